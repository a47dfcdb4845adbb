"""The browser of the tests: a Chromium that the machine has, or Debian's, installed when we may.

Playwright drives it by its path (`CHROMIUM`, or the first of NAMES on the PATH); its own download is not used.
"""

import os
import shutil
from pathlib import Path

import debian_packages
import tools

from console.run.steps import CannotRun, Steps

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def ensure(steps: Steps, log: Path) -> None:
    """Raise `CannotRun` when there is no browser and we may not install one."""
    if os.environ.get("CHROMIUM") or any(shutil.which(name) for name in NAMES):
        return
    if not debian_packages.may_install():
        raise CannotRun(
            "the tests need Chromium",
            "install it: apt-get install chromium (as root), or set CHROMIUM to one",
        )
    with steps.step("Chromium") as step:
        if not debian_packages.install("chromium", log):
            raise tools.failed("installing Chromium", log)
        step.note = "installed by apt-get"
