"""Give a running cluster new files, and give it its old ones back if it does not live with them.

The order is the safety: the controller's copy first; only when the controller lives with it do the workers'
and the clients' copies change (26.05's slurmds die of a file that the controller refused). Whatever `scontrol
reconfigure` answers, the controller is pinged afterwards: its exit status does not say whether it lived. Jobs
survive all of it: they hang below slurmstepd. Idempotent, also after a kill at any point.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from console.errors import Problem, Rejected, Unavailable
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.daemon import tail
from slurm.provisioners.sandbox.daemons import KEPT_NUMBER, NUMBER
from slurm.provisioners.sandbox.epochs import epochs_of, raise_epochs
from slurm.provisioners.sandbox.layout import (
    COPIES,
    complete_files,
    forget_scripts,
    lay_out,
    lay_out_login,
    read_slurm_files,
    write_slurm_files,
)
from slurm.provisioners.sandbox.orders import start_afresh, write_daemons
from slurm.provisioners.sandbox.running_images import as_it_runs
from slurm.provisioners.sandbox.shadow import shadow_check, sweep_shadows
from slurm.provisioners.sandbox.space import (
    keeper_pid,
    keeping,
    reload_keeper,
    run_inside,
    signal_inside,
    wait_until,
)
from slurm.provisioners.sandbox.start import begin_cluster, laggard
from slurm.provisioners.sandbox.trial import Ending
from slurm.refusals import problems_in

# There while the copies differ on purpose. A kill leaves it, and the change that was killed comes again.
APPLYING = ".applying"
Say = Callable[[str], None]
UP_LIMIT_S, FIRST_LIMIT_S = 15.0, 60.0
# A controller that refused its file is dead by now; one that took it has answered twice.
STEADY_PINGS, PING_PAUSE_S = 3, 0.3


def apply_files(
    cluster: SandboxCluster, files: Mapping[str, str], say: Say, *, restart: bool = False
) -> None:
    """Make `cluster` (its nodes, keys and volumes) and `files` the running cluster's. `restart` restarts slurmctld.

    Raises `Rejected` with the daemon's own words when the controller does not live with the files (its last good ones
    are then in force again), `Unavailable` when the cluster does not run or does not come back even with those.
    """
    mark = cluster.home / APPLYING
    cluster.home.mkdir(parents=True, exist_ok=True)
    sweep_shadows(cluster.home)
    was_cut_short = mark.exists()
    mark.touch()
    cluster = as_it_runs(cluster)
    try:
        _apply(cluster, complete_files(cluster, files), say, restart=restart, again=was_cut_short)
    except Rejected:
        mark.unlink()
        raise
    mark.unlink()


def _apply(
    cluster: SandboxCluster, wanted: Mapping[str, str], say: Say, *, restart: bool, again: bool
) -> None:
    """`again`: an earlier apply was killed, so what the controller runs with is not known."""
    good = good_files(cluster.home)
    if keeper_pid(cluster.home) is None or not (good or is_answering(cluster)):
        _first_start(cluster, wanted, good, say)
        return
    if wanted != good or restart or again:
        restart = restart or _must_restart(cluster, wanted, good) or not is_answering(cluster)
        _persuade_controller(cluster, wanted, good, say, restart=restart)
    write_slurm_files(cluster, wanted, ("workers", "clients"))
    _keep_good(cluster, wanted)
    lay_out_login(cluster)
    before = {daemon.name for daemon in state.daemons} if (state := keeping(cluster.home)) else set()
    # With the numbers of the restarts until now, or the keeper would take the older ones for another restart.
    write_daemons(replace(cluster, epochs=epochs_of(cluster.home)))
    reload_keeper(cluster.home)
    if wanted != good or again:
        _reread_workers(cluster, before)
    forget_scripts(cluster.home, wanted, good)


def _first_start(
    cluster: SandboxCluster, wanted: Mapping[str, str], good: Mapping[str, str], say: Say
) -> None:
    """Start the cluster with the files, or with its last good ones when the controller does not start with them."""
    count = len(cluster.nodes)
    say(f"Starting Slurm {cluster.tree.slurm_version} with {count} node{'s' if count != 1 else ''}.")
    if keeper_pid(cluster.home) is None:
        begin_cluster(cluster, wanted)
    else:
        # An earlier start was cut short: the keeper goes on with it.
        lay_out(cluster, wanted)
        reload_keeper(cluster.home)
    if wait_until(lambda: is_answering(cluster), FIRST_LIMIT_S, PING_PAUSE_S):
        _keep_good(cluster, wanted)
        say("The controller answers.")
        return
    state = keeping(cluster.home)
    controller = state.daemon("slurmctld") if state else None
    if controller is None or not controller.last_lines:
        raise Unavailable(f"{cluster.name} did not start in time: {laggard(cluster)}", "It goes on trying.")
    if good:
        write_slurm_files(cluster, good, COPIES)
        _restart(cluster)
    raise Rejected(
        "Slurm's controller does not start with this configuration.",
        _why(cluster, wanted, controller.last_lines),
    )


def _persuade_controller(
    cluster: SandboxCluster, wanted: Mapping[str, str], good: Mapping[str, str], say: Say, *, restart: bool
) -> None:
    log = cluster.home / "log/slurmctld.log"
    mark = log.stat().st_size if log.exists() else 0
    write_slurm_files(cluster, wanted, ("controller",))
    say("The controller restarts with the new files." if restart else "The controller rereads its files.")
    accepted = _restart(cluster) if restart else _reconfigure(cluster)
    if accepted and stays_up(cluster):
        say("The controller answers with the new configuration.")
        return
    words = _said_since(log, mark)
    say("The controller does not live with the new files; the last good ones are put back.")
    if good:
        write_slurm_files(cluster, good, ("controller",))
        # One that lives on starts anew, too: after a reconfigure that came to nothing 24.11 holds no running job
        # against the limits, which a fresh start counts again.
        if not _restart(cluster) and not stays_up(cluster):
            raise Unavailable(
                f"The controller of {cluster.name} does not come back even with its last good files.",
                f"Its log: {' '.join(tail(str(log), 3))}",
            )
        say("The controller runs with the last good files.")
    raise Rejected("Slurm's controller refused the configuration.", _why(cluster, wanted, words))


def _reconfigure(cluster: SandboxCluster) -> bool:
    return run_inside(cluster.home, ["scontrol", "reconfigure"], 20.0).returncode == 0


def _restart(cluster: SandboxCluster) -> bool:
    """Have the keeper restart slurmctld, whatever state it is in, and wait for its first answer."""
    restarted = replace(cluster, epochs=raise_epochs(cluster.home, "slurmctld"))
    start_afresh(cluster.home, "slurmctld", restarted.epochs["slurmctld"])
    reload_keeper(cluster.home)
    wait_until(lambda: _controller_state(restarted) in ("up", "backing off"), UP_LIMIT_S)
    return wait_until(lambda: is_answering(restarted), 1.0)


def _controller_state(cluster: SandboxCluster) -> str:
    """As the keeper sees it; empty while it is still the one of before the last restart."""
    state = keeping(cluster.home)
    daemon = state.daemon("slurmctld") if state else None
    return daemon.state if daemon and daemon.epoch == cluster.epochs.get("slurmctld", 0) else ""


def is_answering(cluster: SandboxCluster) -> bool:
    """The controller answers a ping."""
    try:
        return run_inside(cluster.home, ["scontrol", "ping"], 4.0).returncode == 0
    except Unavailable:
        return False


def stays_up(cluster: SandboxCluster) -> bool:
    """Answers some pings in a row: one that dies of its file does so within the first. False as soon as it is dead."""
    cluster = replace(cluster, epochs=epochs_of(cluster.home))
    answers = 0

    def is_decided() -> bool:
        nonlocal answers
        answers = answers + 1 if is_answering(cluster) else 0
        return answers >= STEADY_PINGS or _controller_state(cluster) == "backing off"

    return wait_until(is_decided, 6.0, PING_PAUSE_S) and answers >= STEADY_PINGS


def _must_restart(cluster: SandboxCluster, wanted: Mapping[str, str], good: Mapping[str, str]) -> bool:
    """Before 23.11 a reconfigure takes few settings and dies of a changed set of nodes; later it is a fresh start."""
    return cluster.tree.release < (23, 11) and wanted.get("slurm.conf") != good.get("slurm.conf")


def _reread_workers(cluster: SandboxCluster, before: set[str]) -> None:
    """The workers that ran already read their own copy again; the keeper starts the others with it."""
    state = keeping(cluster.home)
    wanted = {f"slurmd-{node.name}" for node in cluster.nodes} & before
    pids = [daemon.pid for daemon in state.daemons if daemon.name in wanted and daemon.pid] if state else []
    signal_inside(cluster.home, "HUP", pids)


def _said_since(log: Path, mark: int) -> tuple[str, ...]:
    with log.open("rb") as file:
        file.seek(mark if mark <= log.stat().st_size else 0)
        return tuple(file.read().decode(errors="replace").splitlines()[-200:])


def _why(cluster: SandboxCluster, files: Mapping[str, str], lines: tuple[str, ...]) -> tuple[Problem, ...]:
    """The controller's own words; of a parse error it writes none into its log (24.11, 26.05), a shadow says them."""
    text = files["slurm.conf"]
    found = problems_in(Ending(1, False, lines), text, path="slurm_conf", daemon="slurmctld")
    told = tuple(problem for problem in found if problem.blocking and problem.line is not None)
    return told or tuple(problem for problem in shadow_check(cluster, files) if problem.blocking)


def good_files(home: Path) -> dict[str, str]:
    """What the controller last ran with. Empty before the first apply that held."""
    return read_slurm_files(home / "files.good") or read_slurm_files(home / ".files.old")


def _keep_good(cluster: SandboxCluster, files: Mapping[str, str]) -> None:
    """By renames of whole directories: a kill leaves the old set or the new one."""
    home = cluster.home
    good, building, old = home / "files.good", home / ".files.new", home / ".files.old"
    _keep_number(home / "state")
    if old.exists() and not good.exists():
        old.rename(good)
    for leftover in (building, old):
        shutil.rmtree(leftover, ignore_errors=True)
    building.mkdir()
    for name, text in files.items():
        (building / name).write_text(text)
    if good.exists():
        good.rename(old)
    building.rename(good)
    shutil.rmtree(old, ignore_errors=True)


def _keep_number(state: Path) -> None:
    """The number that accounting gave the cluster, once and for all: see `daemons`."""
    given, kept, building = state / NUMBER, state / KEPT_NUMBER, state / f".{KEPT_NUMBER}"
    if given.exists() and not kept.exists():
        shutil.copyfile(given, building)
        building.rename(kept)
