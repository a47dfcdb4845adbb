"""Debian's packages, installed on the machine itself: for tests alone, and only as root."""

import os
import shutil
from pathlib import Path

import tools


def may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(package: str, log: Path) -> bool:
    """False when it could not be had; the log says why."""
    command = ["apt-get", "install", "--yes", "--no-install-recommends", package]
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    # The list of packages may be missing or old: then one update helps.
    return tools.run(command, log, env=quiet) or (
        tools.run(["apt-get", "update"], log, env=quiet) and tools.run(command, log, env=quiet)
    )
