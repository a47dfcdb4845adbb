"""Nodes that take no new jobs before something is done to them: those that leave, and those that restart once idle.

What is begun stands in the reason that Slurm keeps with the node (`slurm.drains`), so a kill forgets nothing and
resuming the node calls it off. A node that was drained for another reason keeps that one.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from clusters.observation import Judgement, NodeSeen, Verdict
from clusters.provisioner import Say
from clusters.spec import ClusterSpec
from console.errors import Conflict, Unavailable
from console.words import listed
from slurm.client import Slurm
from slurm.drains import LEAVES, RESTARTING, RESTARTS
from slurm.leaving import jobs_on, wait_words
from slurm.provisioners.sandbox.space import wait_until

# Nodes answer a new controller within seconds.
ANSWER_S = 20.0


def make_way(slurm: Slurm, going: Collection[str], staying: Collection[str], say: Say) -> bool:
    """Drain the nodes that go, and let those that were to go and stay take jobs again. Whether nothing runs on those
    that go any more. Raises Unavailable, but not when none goes: the new files may be what the controller needs."""
    try:
        nodes = slurm.nodes()
    except Unavailable:
        if going:
            raise
        return True
    if kept := leaving(nodes, staying):
        _take_back(slurm, kept)
        say(f"Let {listed(kept)} take jobs again.")
    if fresh := [node.name for node in nodes if node.name in going and not _is_drained(node)]:
        slurm.drain(fresh, LEAVES)
        say(f"No new jobs on {listed(fresh)}; what runs there goes on.")
    return not going or not jobs_on(slurm.jobs(), going)


def _take_back(slurm: Slurm, names: Sequence[str]) -> None:
    """Raises Unavailable. Of a node that has not answered a controller which has just started, resume is called an
    invalid state, although it takes the drain away (24.11)."""

    def are_back() -> bool:
        left = leaving(slurm.nodes(), names)
        with suppress(Conflict):
            if left:
                slurm.resume(left)
        return not left

    if not wait_until(are_back, ANSWER_S, 0.1):
        raise Unavailable(f"{listed(list(names))} could not take jobs again.", "It is tried again.")


def meanwhile(before: ClusterSpec | None, spec: ClusterSpec, going: Collection[str]) -> ClusterSpec | None:
    """What is written while jobs are waited for: who signs in by `spec`, since nobody keeps a key so long, and all else
    as it is; None where that is so. Raises Unavailable."""
    if before is None or (before.logins, before.ssh_keys) == (spec.logins, spec.ssh_keys):
        return None
    if not set(going) <= set(before.node_names):
        raise Unavailable("Nodes that an earlier change began to bring still go.", "It is tried again.")
    # Every part runs the new image by now.
    image, version = spec.image, spec.slurm_version
    return replace(before, logins=spec.logins, ssh_keys=spec.ssh_keys, image=image, slurm_version=version)


def leaving(nodes: Iterable[NodeSeen], among: Collection[str]) -> list[str]:
    return [node.name for node in nodes if node.name in among and node.reason == LEAVES]


def judge_departure(slurm: Slurm, going: Sequence[str]) -> Judgement | None:
    """How the nodes that go stand; None while they were not drained. Raises Unavailable."""
    if not all(_is_drained(node) for node in slurm.nodes() if node.name in going):
        return None
    if jobs := jobs_on(slurm.jobs(), going):
        return Judgement(Verdict.WAITING, wait_words(going, jobs), patient=True)
    return Judgement(Verdict.APPLY_AGAIN, f"Nothing runs on {listed(list(going))} any more.")


def restart_when_idle(slurm: Slurm, names: Sequence[str]) -> None:
    """Several leave out those that somebody drained for another reason: it would be forgotten."""
    drained = [node.name for node in slurm.nodes() if _is_drained(node)] if len(names) > 1 else []
    if fresh := [name for name in names if name not in drained]:
        slurm.drain(fresh, RESTARTS)


def wait_no_longer(slurm: Slurm, names: Collection[str]) -> None:
    """Of nodes that were just restarted: those that had waited for it only have to be let back. A controller that does
    not answer leaves them to restart once more."""
    with suppress(Unavailable):
        if waited := [node.name for node in slurm.nodes() if node.name in names and node.reason == RESTARTS]:
            slurm.drain(waited, RESTARTING)


def are_to_restart(nodes: Iterable[NodeSeen]) -> bool:
    return any(node.reason in (RESTARTS, RESTARTING) for node in nodes)


def continue_restarts(
    slurm: Slurm, restart: Callable[[str], None], is_back: Callable[[str], bool]
) -> tuple[str, ...]:
    """The next step of each restart that waits, as sentences. Killed in between, a node restarts twice."""
    nodes = slurm.nodes()
    if not are_to_restart(nodes):
        return ()
    busy = {node.name for node in nodes if jobs_on(slurm.jobs(), (node.name,))}
    said = []
    for node in nodes:
        if node.reason == RESTARTS and node.name not in busy:
            restart(node.name)
            slurm.drain([node.name], RESTARTING)
            said.append(f"{node.name} restarts: nothing runs on it any more.")
        elif node.reason == RESTARTING and is_back(node.name) and "NOT_RESPONDING" not in node.state.flags:
            slurm.resume([node.name])
            said.append(f"{node.name} has restarted and takes jobs again.")
    return tuple(said)


def _is_drained(node: NodeSeen) -> bool:
    return "DRAIN" in node.state.flags
