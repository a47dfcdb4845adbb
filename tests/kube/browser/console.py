"""The console of these tests: the demo's handle on one that was started without the demo."""

import json
import os
import subprocess
import sys

from tests.demo.console import NOT_ITS_OWN, ROOT, DemoConsole

# It starts beside a Kubernetes with Slurm in it.
UP_WITHIN_S = 180.0


class SlinkyConsole(DemoConsole):
    """Its only cluster is `demo` of `research`, once a test has made it: what the demo's helpers look at."""

    def start(self) -> None:
        """Returns when every process is up."""
        env = {name: value for name, value in os.environ.items() if name not in NOT_ITS_OWN}
        argv = [sys.executable, "-m", "tests.kube.browser.serve", str(self.var), str(self.port)]
        with (self.var.parent / "console.out").open("wb") as out:
            self.popen = subprocess.Popen(
                argv, cwd=ROOT, env=env, stdout=out, stderr=out, start_new_session=True
            )
        try:
            self._await("Quarterdeck is at", UP_WITHIN_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.evidence()}") from error
        self.run = json.loads((self.var / "run.json").read_text())
