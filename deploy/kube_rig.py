"""The Kubernetes API server of the tests: what its build needs from the network, fetched where it can be."""

from pathlib import Path

import python_env
import tools

from console.run.steps import Steps


def ensure(root: Path, steps: Steps, log: Path) -> None:
    """Never fails: where it cannot be had its tests are skipped, and the step's line says why. The build itself, a
    quarter of an hour the first time, goes on beside the tests that need no Kubernetes.
    """
    with steps.step("Kubernetes rig") as step:
        fetched = tools.run([python_env.python(root), "-m", "tests.kube.rig.build", "fetch"], log, cwd=root)
        step.note = log.read_text(errors="replace").splitlines()[-1]
        if not fetched:
            step.note += "; its tests are skipped"
