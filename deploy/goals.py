"""What each make target needs prepared, in order. Composition only; run through `prepare.py`."""

import fcntl
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import browser
import debian_packages
import front_end
import kube_rig
import python_env
import tools
from cache import Cache

from console.run.checks import check_disk, check_port, check_writable, chosen_port
from console.run.layout import Layout
from console.run.records import clear_leftovers
from console.run.steps import CannotRun, Steps

ROOT = Path(__file__).resolve().parent.parent
NEWEST_SLURM = "26.05"  # the operator for Kubernetes wants 25.11 or newer


def main(arguments: Sequence[str]) -> int:
    """Exit status 0 when all is ready, 1 with one line when something is missing."""
    goals: dict[str, Callable[[], None]] = {
        "run": for_run,
        "test": for_test,
        "kube": for_kube,
        "vendor": for_vendor,
    }
    if len(arguments) != 1 or arguments[0] not in goals:
        print(f"usage: prepare.py {'|'.join(goals)}", file=sys.stderr)
        return 2
    try:
        goals[arguments[0]]()
    except CannotRun as problem:
        print(problem.line(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def for_run() -> None:
    """The environment and the front end; first what would make the run fail in the end."""
    layout = Layout.of(ROOT)
    check_writable(layout.var)
    check_disk(layout.var)
    layout.make()
    clear_leftovers(layout, Steps())
    check_port(chosen_port())
    _prepare(["requirements.lock"], slurm=True)


def for_test() -> None:
    """As for a run, with the tools of the tests, a browser, the Slurm that Kubernetes needs and a Kubernetes."""
    check_writable(ROOT / "var")
    check_disk(ROOT / "var")
    _prepare(["requirements.lock", "requirements-dev.lock"], slurm=True, tests=True)


def for_kube() -> None:
    """The environment alone: the rig builds itself, where a person sees it."""
    check_writable(ROOT / "var")
    check_disk(ROOT / "var")
    _prepare(["requirements.lock"])


def for_vendor() -> None:
    """The environment and the front-end files alone."""
    check_writable(ROOT / "static")
    _prepare(["requirements.lock"])


def _slurm_tree(steps: Steps, log: Path) -> None:
    """The root tree of the demo's Slurm, by a program of its own: it needs the environment that was just made."""
    with steps.step("Slurm") as step:
        if not tools.run([python_env.python(ROOT), "deploy/slurm_tree.py"], log, cwd=ROOT):
            raise tools.failed("fetching Slurm", log)
        step.note = log.read_text(errors="replace").splitlines()[-1]


def _newest_slurm_tree(steps: Steps, log: Path) -> None:
    """Where it cannot be had, tests that need it say so."""
    with steps.step("Slurm, newest") as step:
        tools.run([python_env.python(ROOT), "deploy/slurm_tree.py", NEWEST_SLURM], log, cwd=ROOT)
        step.note = log.read_text(errors="replace").splitlines()[-1]


def _user_ranges(steps: Steps, log: Path) -> None:
    """newuidmap, for the tests of an ordinary user's console. Where it cannot be had, they say so."""
    if shutil.which("newuidmap") is None and debian_packages.may_install():
        with steps.step("newuidmap") as step:
            is_there = debian_packages.install("uidmap", log)
            step.note = "installed by apt-get" if is_there else f"not to be had; see {log}"


def _prepare(locks: list[str], *, slurm: bool = False, tests: bool = False) -> None:
    steps, cache = Steps(), Cache.of_user()
    log = ROOT / "var" / "log" / "prepare.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(ROOT / "var" / "prepare.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two makes at once: the second finds everything done
        python_env.ensure(ROOT, locks, cache, steps, log)
        front_end.ensure(ROOT, cache, steps, log)
        if slurm:
            _slurm_tree(steps, log)
        if tests:
            browser.ensure(steps, log)
            _user_ranges(steps, log)
            _newest_slurm_tree(steps, log)
            kube_rig.ensure(ROOT, steps, log)
