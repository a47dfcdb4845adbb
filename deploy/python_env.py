"""The Python environment in `.venv`: exactly what a lock names, made anew when the lock or the Python changes.

Wheels come once into the cache and are installed from there without the network. Nothing is compiled: only wheels are
taken. On Debian `python3 -m venv` may lack pip; then pip is taken from Debian's own wheel, without root.
"""

import fcntl
import json
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import tools
from cache import Cache, digest

from console.run.layout import Layout
from console.run.records import running
from console.run.steps import CannotRun, Step, Steps

STAMP = "quarterdeck.json"
PIP = [
    "-I",
    "-m",
    "pip",
    "--disable-pip-version-check",
    "--no-input",
]  # -I: nothing named pip in the working directory


def ensure(root: Path, locks: list[str], cache: Cache, steps: Steps, log: Path) -> None:
    """Make `.venv` hold the last of `locks`, which holds the others too. Takes no time when it does already."""
    wanted = {name: digest((root / name).read_bytes()) for name in locks}
    if (root / ".venv").is_symlink() or _is_current(root / ".venv", wanted):
        return  # a link is a developer's own arrangement and taken as it is
    with steps.step("Python environment") as step:
        if not _is_current(root / ".venv", {locks[0]: wanted[locks[0]]}):
            _make_anew(root, cache, log)
        _fill(root, locks[-1], cache, log, step)
        (root / ".venv" / STAMP).write_text(json.dumps({"python": _python_tag(), "locks": wanted}))


def python(root: Path) -> str:
    """The environment's interpreter."""
    return str(root / ".venv" / "bin" / "python")


def _is_current(venv: Path, wanted: dict[str, str]) -> bool:
    try:
        stamp = json.loads((venv / STAMP).read_text())
    except (OSError, ValueError):
        return False
    # The interpreter is a link to the system's, which an upgrade of the system may have taken away.
    alive = (venv / "bin" / "python").exists()
    return alive and stamp.get("python") == _python_tag() and wanted.items() <= stamp.get("locks", {}).items()


def _make_anew(root: Path, cache: Cache, log: Path) -> None:
    """Raises `CannotRun` while a console runs from the old one: its processes would start again into nothing."""
    if holder := running(Layout.of(root)):
        what = f"a console runs in this checkout (pid {holder}) with an older Python environment"
        raise CannotRun(what, f"stop it first: kill {holder}")
    shutil.rmtree(root / ".venv", ignore_errors=True)
    _make_venv(root, cache, log)


def _fill(root: Path, lock: str, cache: Cache, log: Path, step: Step) -> None:
    """Install what the lock names and is not there yet; what is there stays, a console may run from it."""
    wheels = cache.root / "wheels"
    wheels.mkdir(exist_ok=True)
    mark = wheels / f"{digest((root / lock).read_bytes(), _python_tag().encode())}.complete"
    was_there = mark.exists() and _install(root, lock, wheels, log)
    if not was_there:
        _download(root, lock, wheels, mark, log)
        if not _install(root, lock, wheels, log):
            raise tools.failed("installing the Python packages", log)
    count = sum("==" in line for line in (root / lock).read_text().splitlines())
    step.note = f"{count} packages, " + ("from the cache" if was_there else "downloaded, kept in the cache")


def _install(root: Path, lock: str, wheels: Path, log: Path) -> bool:
    """Install from the cache alone. Each file's hash is compared with the lock's, so the cache need not be trusted."""
    install = ["install", "--no-index", f"--find-links={wheels}", "--require-hashes", f"--requirement={lock}"]
    options = ["--quiet", "--no-warn-script-location", "--no-cache-dir"]
    return tools.run([python(root), *PIP, *install, *options], log, cwd=root)


def _download(root: Path, lock: str, wheels: Path, mark: Path, log: Path) -> None:
    """Bring the lock's wheels into the cache; those that another lock brought are kept. `mark` says that all are
    there.
    """
    download = [
        "download",
        "--only-binary=:all:",
        "--require-hashes",
        f"--requirement={lock}",
        f"--dest={wheels}",
    ]
    options = ["--no-cache-dir", "--progress-bar=off"]
    with open(wheels / "lock", "w") as other_checkouts:
        fcntl.flock(other_checkouts, fcntl.LOCK_EX)
        if not tools.run([python(root), *PIP, *download, *options], log, cwd=root):
            raise tools.failed("downloading the Python packages", log)
        mark.touch()


def _make_venv(root: Path, cache: Cache, log: Path) -> None:
    venv = str(root / ".venv")
    # Never from within the environment that is made anew.
    outside = getattr(sys, "_base_executable", sys.executable)
    if tools.run([outside, "-m", "venv", venv], log):
        return
    shutil.rmtree(venv, ignore_errors=True)
    if not tools.run([outside, "-m", "venv", "--without-pip", venv], log):
        raise CannotRun(f"{sys.executable} cannot make an environment", _venv_hint())
    if not _install_pip(root, log):
        raise CannotRun("Python's venv module is incomplete and pip could not be fetched", _venv_hint())


def _install_pip(root: Path, log: Path) -> bool:
    """Put pip into an environment without it, from Debian's package of its wheel: `apt-get download` needs no root."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return False
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        download = ["apt-get", "download", "-o", "APT::Sandbox::User=root", "python3-pip-whl"]
        # A machine may have no package lists yet; only root may fetch them.
        if not tools.run(download, log, cwd=here) and tools.run(["apt-get", "update"], log):
            tools.run(download, log, cwd=here)
        for package in here.glob("*.deb"):
            tools.run(["dpkg-deb", "-x", str(package), directory], log)
        for wheel in here.glob("usr/share/python-wheels/pip-*.whl"):
            pip = [python(root), str(wheel / "pip"), "install", "--no-index", "--quiet", str(wheel)]
            return tools.run(pip, log)
    return False


def _venv_hint() -> str:
    return "install it: apt-get install python3-venv (as root)"


def _python_tag() -> str:
    """What decides which wheels fit: the version and the machine."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}-{sysconfig.get_platform()}"
