"""Running an outside tool with its output in a log, and saying in one line why it failed."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from console.run.steps import CannotRun


def run(
    argv: Sequence[str], log: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> bool:
    """Run to the end; output is added to the log. False when it failed. Blocks without limit, as downloads may."""
    with log.open("ab") as out:
        out.write(f"$ {' '.join(argv)}\n".encode())
        out.flush()
        result = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            check=False,
        )
    return result.returncode == 0


def failed(what: str, log: Path) -> CannotRun:
    """The error for a tool that failed: its last words, and where all of them are."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()[-20:]]
    telling = (
        [line for line in lines if "error" in line.lower()]
        or [line for line in lines if line]
        or ["no output"]
    )
    return CannotRun(
        f"{what} failed ({telling[-1][:200]})", f"see {log}; a first run needs the package registries"
    )
