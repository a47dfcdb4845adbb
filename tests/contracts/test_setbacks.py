"""What every provisioner promises of acts that are cut short, and of each act that is not a change: restarts, previews,
what is kept on the login node, and what the watcher makes of it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from clusters.acts import (
    Act,
    Delete,
    Does,
    Drain,
    Edit,
    PartKind,
    Reapply,
    Reboot,
    RestartPart,
    Resume,
    Terminate,
)
from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.observation import PartState, Verdict
from clusters.spec import ClusterSpec, NodeGroup, to_json
from clusters.watch import watch_once
from console.errors import Missing, Unavailable
from tests.cast import the_cast, the_region
from tests.clusters.polling import until
from tests.contracts.platforms import GPU, SPEC, Platform, with_partition

pytestmark = pytest.mark.timeout(300)
CHANGED = replace(
    with_partition(max_time_minutes=90).with_slurm_conf("MaxJobCount=30000\n"),
    groups=(NodeGroup("slinky", GPU, (0, 2)), SPEC.groups[1]),
)


class CutShort(Exception):
    """Stands for the end of the worker."""


def is_cut_short(platform: Platform, spec: ClusterSpec, step: int) -> bool:
    """Apply up to the n-th sentence; whether there were so many."""
    sentences = count(1)

    def say(text: str) -> None:
        if next(sentences) == step:
            raise CutShort(text)

    try:
        platform.provisioner.apply(spec, say)
    except CutShort:
        return True
    return False


def as_it_was(platform: Platform) -> None:
    platform.apply(SPEC)
    platform.settle(SPEC)


def done(platform: Platform) -> None:
    platform.apply(CHANGED)
    platform.settle(CHANGED)


@pytest.mark.parametrize("then", [as_it_was, done])
def test_an_apply_cut_short_at_any_step_is_completed_or_taken_back(
    platform: Platform, then: Callable[[Platform], None]
) -> None:
    steps = 0
    for step in count(1):
        platform.make()
        if not is_cut_short(platform, CHANGED, step):
            break
        steps = step
        then(platform)
        wanted = SPEC if then is as_it_was else CHANGED
        assert {node.name for node in platform.provisioner.observe().nodes} == set(wanted.node_names)
    assert steps >= 1, "the platform says nothing of what it does"
    platform.make()


def test_a_refusal_leaves_what_was_and_can_be_met_at_once_again(platform: Platform) -> None:
    platform.make()
    deadly = CHANGED.with_slurm_conf(f"{platform.deadly_line}\n")
    for _ in range(2):
        assert platform.refusal_of(deadly)
    as_it_was(platform)
    assert platform.provisioner.judge(CHANGED).verdict is not Verdict.DONE


@pytest.mark.parametrize("part", [PartKind.LOGIN, PartKind.WORKERS, "slinky-0"])
def test_a_restart_says_so_and_is_over_when_all_is_up(platform: Platform, part: str) -> None:
    platform.make()
    said: list[str] = []
    platform.provisioner.restart(part, said.append)
    assert said

    def is_over() -> bool:
        platform.provisioner.revive()
        seen = platform.provisioner.observe()
        up = bool(seen.parts) and {part.state for part in seen.parts} == {PartState.UP}
        return up and not seen.unfinished and all(node.state.takes_jobs for node in seen.nodes or ())

    assert until(is_over, 60), platform.provisioner.observe()
    platform.settle(SPEC)


def test_what_is_not_there_is_not_restarted(platform: Platform) -> None:
    platform.make()
    for part in ("slinky-99", "accounting", ""):
        with pytest.raises(Missing):
            platform.provisioner.restart(part, lambda text: None)


ACTS: tuple[Act, ...] = (
    Edit(SPEC, CHANGED),
    Edit(CHANGED, SPEC, force=True),
    Reapply(SPEC),
    *(RestartPart(SPEC, part) for part in (PartKind.CONTROLLER, PartKind.LOGIN, PartKind.WORKERS)),
    RestartPart(SPEC, PartKind.WORKERS, when_idle=True),
    Reboot(SPEC, ("slinky-0",)),
    Drain(SPEC, ("slinky-0",)),
    Resume(SPEC, ("slinky-0",)),
    Terminate(SPEC),
    Delete(SPEC),
)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: type(act).__name__)
def test_what_an_act_touches_is_foreseen_the_same_each_time(platform: Platform, act: Act) -> None:
    touches = platform.provisioner.foresee(act)
    assert touches == platform.provisioner.foresee(act)
    known = {*SPEC.node_names, *CHANGED.node_names}
    assert all(set(touch.nodes) <= known for touch in touches)
    does = {touch.does for touch in touches}
    if isinstance(act, Terminate | Delete):
        assert {node for t in touches if t.does is Does.STOPS for node in t.nodes} == set(SPEC.node_names)
    elif isinstance(act, RestartPart | Reboot):
        assert Does.RESTARTS in does
    elif isinstance(act, Edit):
        assert {node for t in touches if t.does is Does.GOES for node in t.nodes} == set(
            act.before.node_names
        ) - set(act.after.node_names)
    elif isinstance(act, Drain | Resume):
        assert not touches


def test_homes_are_told_while_there_is_a_login_node(platform: Platform, nothing) -> None:
    platform.make()
    homes = platform.provisioner.homes()
    assert all(home.user and home.bytes >= 0 for home in homes)
    assert [home.bytes for home in homes] == sorted((home.bytes for home in homes), reverse=True)
    with pytest.raises(Unavailable):
        nothing.homes()


def test_commands_are_run_in_their_order(platform: Platform) -> None:
    platform.make()
    pinged = platform.provisioner.executor().run_each([["scontrol", "ping"], ["scontrol", "show", "config"]])
    assert [done.code for done in pinged] == [0, 0]
    assert b"is UP" in pinged[0].stdout and b"ClusterName" in pinged[1].stdout


@pytest.mark.django_db
def test_the_watcher_writes_what_is_there_and_brings_back_what_fell(platform: Platform) -> None:
    platform.make()
    cluster = Cluster.objects.create(
        team=the_cast().team, region=the_region(), slug="contract", status=Status.RUNNING
    )
    cluster.revision = cluster.revisions.create(number=1, spec=to_json(SPEC))
    cluster.save()
    watch_once(cluster, platform.provisioner)
    assert set(cluster.nodes.values_list("name", flat=True)) == set(SPEC.node_names)
    assert (cluster.observed_problem, cluster.observed_drift) == ("", "")
    platform.fall_over()
    watch_once(cluster, platform.provisioner)
    assert cluster.observed_problem
    # What was last seen stays, as long as nobody can look.
    assert cluster.nodes.count() == len(SPEC.node_names)

    def is_back() -> bool:
        watch_once(cluster, platform.provisioner)
        return not cluster.observed_problem and {part["state"] for part in cluster.parts} == {"up"}

    assert until(is_back, 60), cluster.observed_problem
    platform.settle(SPEC)
