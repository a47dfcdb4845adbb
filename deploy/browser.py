"""The browser of the tests: a Chromium that the machine has, or Debian's, installed when we may.

Playwright drives it by its path (`CHROMIUM`, or the first of NAMES on the PATH); its own download is not used.
"""

import os
import shutil
from pathlib import Path

import tools

from console.run.steps import CannotRun, Steps

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]


def ensure(steps: Steps, log: Path) -> None:
    """Raise `CannotRun` when there is no browser and we may not install one."""
    if os.environ.get("CHROMIUM") or any(shutil.which(name) for name in NAMES):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise CannotRun(
            "the tests need Chromium",
            "install it: apt-get install chromium (as root), or set CHROMIUM to one",
        )
    with steps.step("Chromium") as step:
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        # The list of packages may be missing or old: then one update helps.
        if not tools.run(INSTALL, log, env=quiet):
            tools.run(["apt-get", "update"], log, env=quiet)
            if not tools.run(INSTALL, log, env=quiet):
                raise tools.failed("installing Chromium", log)
        step.note = "installed by apt-get"
