"""Take a running cluster to another image in place, part by part in Slurm's order, and back when that fails.

Jobs and sign-ins go on: a new slurmd speaks to the slurmstepd of an older release (slurm.schedmd.com/upgrades.html,
Compatibility Window), and each keeps the programs that it began with. What daemons rewrite as they first start, the
database and the controller's state, is copied while they are down. Only these copies lead back, and what happened since
they were made is forgotten (the same, Reverting an Upgrade): jobs that came since are ended by the controller, which
does not know them; those that ended since are found to be gone.

Where things stand is in images.json and in the copies, so everything here may be run again after a kill at any point.
"""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from clusters.provisioner import Say
from console.errors import Problem, Rejected, Unavailable
from console.words import listed
from slurm.provisioners.sandbox.apply import stays_up
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.daemons import part_of, specs_of
from slurm.provisioners.sandbox.layout import lay_out_login
from slurm.provisioners.sandbox.orders import write_daemons
from slurm.provisioners.sandbox.room import empty_directory
from slurm.provisioners.sandbox.running_images import (
    PARTS,
    as_it_runs,
    images_in,
    note_images,
    others_than,
)
from slurm.provisioners.sandbox.space import DaemonState, keeping, reload_keeper, run_inside, wait_until

SAVED = "saved"
# Of each part that keeps something: the directory, and its daemons in the order in which they stop.
KEEPS = {"accounting": ("db", ("slurmdbd", "mariadbd")), "controller": ("state", ("slurmctld",))}
NAMES = {
    "accounting": "Accounting",
    "controller": "The controller",
    "workers": "The workers",
    "login": "The login node",
}
STOP_LIMIT_S, UP_LIMIT_S = 20.0, 60.0
# Once may be chance.
MOST_FAILURES = 2


def change_image(cluster: SandboxCluster, say: Say) -> None:
    """Have every part run the programs of `cluster.tree`. The cluster runs, and its nodes and files are those of now.

    Raises Rejected when a daemon does not start with them, or the way back is closed; Unavailable when that cannot be
    told in time.
    """
    home, image = cluster.home, cluster.tree.image.name
    if newer := [part for part in others_than(home, image) if _is_newer(images_in(home)[part], image)]:
        _go_back(cluster, newer, say)
    for part in others_than(home, image):
        if part in KEEPS:
            _save(cluster, part)
        _run(cluster, (part,))
        _until_up(cluster, part)
        say(f"{NAMES[part]} {'run' if part == 'workers' else 'runs'} Slurm {cluster.tree.slurm_version}.")


def forget_copies(home: Path) -> None:
    """There is nothing to go back to any more."""
    shutil.rmtree(home / SAVED, ignore_errors=True)


def forget_cut_short(home: Path) -> None:
    """Copies that a kill ended half-way: nothing leads back by them, and nothing has to."""
    for name, _ in KEEPS.values():
        shutil.rmtree(home / SAVED / f".{name}", ignore_errors=True)


def _save(cluster: SandboxCluster, part: str) -> None:
    name, daemons = KEEPS[part]
    saved = cluster.home / SAVED
    saved.mkdir(mode=0o700, exist_ok=True)
    _stop(cluster, daemons)
    for leftover in (saved / name, saved / f".{name}"):
        shutil.rmtree(leftover, ignore_errors=True)
    _copy(cluster.home / name, saved / f".{name}")
    (saved / f".{name}").rename(saved / name)


def _go_back(cluster: SandboxCluster, parts: Sequence[str], say: Say) -> None:
    """Workers and login node first: what is older may speak to a newer controller, never the other way round."""
    home, kept = cluster.home, [part for part in parts if part in KEEPS]
    if lost := [NAMES[part] for part in kept if not (home / SAVED / KEEPS[part][0]).exists()]:
        raise Rejected(
            f"{listed(lost)} cannot go back to Slurm {cluster.tree.slurm_version}: there is no copy from before.",
            hint="Slurm reads no state or database of a newer release.",
        )
    say(f"Going back to Slurm {cluster.tree.slurm_version}.")
    if others := [part for part in parts if part not in KEEPS]:
        _run(cluster, others)
    if kept:
        _stop(cluster, [name for part in reversed(kept) for name in KEEPS[part][1]])
        for part in kept:
            name = KEEPS[part][0]
            empty_directory(home / name)
            _copy(home / SAVED / name, home / name)
        words = [{"accounting": "the accounting database", "controller": "the queue"}[part] for part in kept]
        say(f"Put back {listed(words)} as of before the upgrade.")
        _run(cluster, kept)
    for part in PARTS:
        if part in parts:
            _until_up(cluster, part)


def _run(cluster: SandboxCluster, parts: Sequence[str]) -> None:
    note_images(cluster.home, parts, cluster.tree.image.name)
    now = as_it_runs(cluster)
    if "login" in parts:
        lay_out_login(now)
    write_daemons(now)
    reload_keeper(cluster.home)


def _stop(cluster: SandboxCluster, daemons: Iterable[str]) -> None:
    """One after the other, and none of them comes back before the next `_run`."""
    now, stopped = as_it_runs(cluster), set[str]()
    for name in daemons:
        stopped.add(name)
        write_daemons(now, only=[spec.name for spec in specs_of(now) if spec.name not in stopped])
        reload_keeper(cluster.home)
        if not wait_until(lambda: _daemon(cluster.home, name) is None, STOP_LIMIT_S):  # noqa: B023
            raise Unavailable(f"{name} of {cluster.name} does not stop.", "See its log.")


def _until_up(cluster: SandboxCluster, part: str) -> None:
    now = as_it_runs(cluster)
    wanted = {s.name: s.machine.usr for s in specs_of(now) if s.machine and part_of(s.name) == part}

    def found() -> list[DaemonState]:
        daemons = [_daemon(cluster.home, name) for name in wanted]
        return [daemon for daemon in daemons if daemon and daemon.usr == wanted[daemon.name]]

    def is_decided() -> bool:
        daemons = found()
        is_up = [daemon.state for daemon in daemons] == ["up"] * len(wanted)
        return any(map(_has_failed, daemons)) or (is_up and _answers(now, part))

    in_time = wait_until(is_decided, UP_LIMIT_S)
    for daemon in found():
        if _has_failed(daemon):
            raise _refusal(cluster, daemon)
    if not in_time:
        late = [name for name in wanted if name not in {d.name for d in found() if d.state == "up"}]
        raise Unavailable(
            f"{listed(late) or NAMES[part]} of {cluster.name} did not come up in time.", "It goes on."
        )


def _has_failed(daemon: DaemonState) -> bool:
    return daemon.state == "backing off" and daemon.restarts >= MOST_FAILURES


def _answers(cluster: SandboxCluster, part: str) -> bool:
    """Up says that it listens; these two have to say that they work, too."""
    if part == "controller":
        return stays_up(cluster)
    if part == "accounting":
        return run_inside(cluster.home, ["sacctmgr", "-nP", "list", "cluster"], 15.0).returncode == 0
    return True


def _refusal(cluster: SandboxCluster, daemon: DaemonState) -> Rejected:
    telling = [line for line in daemon.last_lines if "fatal" in line or "error" in line] or daemon.last_lines
    words = " ".join(dict.fromkeys(telling[-3:]))
    return Rejected(
        f"{daemon.name} does not start with Slurm {cluster.tree.slurm_version}.",
        (Problem("image", words[:1000] or "It said nothing.", "See its log on the controller."),),
    )


def _daemon(home: Path, name: str) -> DaemonState | None:
    state = keeping(home)
    return state.daemon(name) if state else None


def _copy(source: Path, target: Path) -> None:
    """With owners and times; into `target` if it is there."""
    target.mkdir(mode=0o700, exist_ok=True)
    done = subprocess.run(
        ["cp", "--archive", "--reflink=auto", f"{source}/.", str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"{source} could not be copied: {done.stderr.strip()[-300:]}", "Is the disk full?")


def _is_newer(image: str, than: str) -> bool:
    return _release(image) > _release(than)


def _release(image: str) -> tuple[int, ...]:
    """Images are named by their release."""
    return tuple(int(part) for part in image.split("."))
