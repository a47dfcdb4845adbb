"""Programs of this package that run on the bare standard library, in a process of their own. Standard library only."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parents[3]
# The last is what a later `make run` knows its own processes by.
PLAIN_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "QUARTERDECK_VAR_DIR")


def run_program(
    module: str, *words: str, limit_s: float = 20.0, pass_fds: Sequence[int] = ()
) -> "subprocess.CompletedProcess[str]":
    """`python -m MODULE WORDS` from the directory that holds this package; blocks until it ends or the limit is over.

    It gets none of the console's secrets: whoever has a shell in the cluster can read the environment of its PID 1.
    """
    return subprocess.run(
        [sys.executable, "-S", "-E", "-s", "-m", module, *words],
        cwd=PACKAGE_ROOT,
        env={name: os.environ[name] for name in PLAIN_VARIABLES if name in os.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s,
        pass_fds=pass_fds,
    )
