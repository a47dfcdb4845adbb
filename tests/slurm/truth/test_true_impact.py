"""The impact is true: for each act real jobs run and real files lie about, the preview is taken, the act is done, and
what happened is compared with what was promised: jobs, restarts, nodes that went, files. One of each kind is done every
time; `make test-long` does them all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from clusters import changes
from clusters.access import Door
from clusters.acts import (
    Act,
    Does,
    Drain,
    Edit,
    Fate,
    PartKind,
    Reapply,
    Reboot,
    RestartPart,
    Resume,
    Terminate,
)
from clusters.machine import ChangeStatus
from clusters.models import Cluster
from clusters.provisioner import Home
from clusters.spec import ClusterSpec, LifeScripts, Mount, PartitionSpec
from console.errors import Unavailable
from slurm import operations, restarts
from storage.kinds import Kind as VolumeKind
from storage.kinds import Phase
from storage.models import Volume
from storage.store import VolumeRef
from tests.clusters.keys import ED25519
from tests.slurm.truth.stage import (
    BASE,
    PLACES,
    Stage,
    gone,
    promised_fates,
    promised_losses,
    promised_restarts,
    restarted,
)

pytestmark = pytest.mark.timeout(300)


def only(spec: ClusterSpec, *ordinals: int) -> ClusterSpec:
    """With these GPU workers."""
    groups = (replace(spec.groups[0], ordinals=ordinals), *spec.groups[1:])
    return replace(spec, groups=groups)


def with_debug(**fields: object) -> ClusterSpec:
    return BASE.with_partitions((replace(BASE.partitions[0], **fields),))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Scene:
    """An edit of the cluster, and jobs that run and wait by then: (node, options)."""

    after: ClusterSpec
    runs: tuple[tuple[str, ...], ...] = ()
    waits: tuple[tuple[str, ...], ...] = ()
    force: bool = False


EDITS = {
    "a partition is added": Scene(
        BASE.with_partitions((*BASE.partitions, PartitionSpec("night", "slinky-2"))), (("slinky-0",),), ((),)
    ),
    "a partition goes with a job in it and one that waits for it": Scene(
        replace(BASE, partitions=()),
        (("slinky-0", "-p", "debug"), ("slinky-1",)),
        (("-p", "debug"), ("-p", "debug,all"), ()),
    ),
    "a partition loses the node that its job runs on": Scene(
        with_debug(nodes="slinky-1"), (("slinky-0", "-p", "debug"),), (("-p", "debug"),)
    ),
    "a partition is closed": Scene(
        with_debug(state="DOWN"), (("slinky-0", "-p", "debug"),), (("-p", "debug"),)
    ),
    "a partition's limit is shortened": Scene(with_debug(max_time_minutes=1), (("slinky-0", "-p", "debug"),)),
    "an idle node goes": Scene(only(BASE, 0, 1), (("slinky-0",),), ((),)),
    "a node in the middle goes": Scene(
        with_debug(nodes="slinky-0") and only(with_debug(nodes="slinky-0"), 0, 2)
    ),
    "a node goes with its job": Scene(only(BASE, 0, 1), (("slinky-2",), ("slinky-0",)), force=True),
    "the last CPU worker goes while a job waits for one": Scene(
        replace(BASE, groups=(BASE.groups[0], replace(BASE.groups[1], ordinals=()))),
        (),
        (("-p", "cpu-workers"), ()),
    ),
    "two nodes come": Scene(only(BASE, 0, 1, 2, 3, 4), (("slinky-0",),), ((),)),
    "a setting is read again": Scene(BASE.with_slurm_conf("MaxJobCount=15000\n"), (("slinky-0",),), ((),)),
    "a setting needs a restart": Scene(
        BASE.with_slurm_conf("MaxJobCount=20000\nPriorityType=priority/basic\n"), (("slinky-0",),), ((),)
    ),
    "another image": Scene(
        replace(BASE, image="slurm-26-05", slurm_version="26.05"), (("slinky-0",), ("slinky-1",)), ((),)
    ),
    "a key is added": Scene(replace(BASE, ssh_keys=(ED25519,)), (("slinky-0",),)),
    "a prolog comes": Scene(
        BASE.with_scripts(LifeScripts(worker_prolog="#!/bin/sh\n")), (("slinky-0",),), ((),)
    ),
    "init scripts come": Scene(
        BASE.with_scripts(LifeScripts(worker_init="#!/bin/sh\n", login_init="#!/bin/sh\n")), (("slinky-0",),)
    ),
}


LONG = pytest.mark.long
EVERY_TIME = frozenset(
    {
        "a partition goes with a job in it and one that waits for it",
        "a node goes with its job",
        "a setting is read again",
        "the login node restarts",
        "all workers restart",
        "a node reboots",
    }
)


def how_often(name: str) -> tuple[pytest.MarkDecorator, ...]:
    return () if name in EVERY_TIME else (LONG,)


@pytest.mark.parametrize(
    "scene", [pytest.param(one, id=name, marks=how_often(name)) for name, one in EDITS.items()]
)
def test_an_edit(stage: Stage, scene: Scene) -> None:
    for node, *options in scene.runs:
        stage.runs(node, *options)
    for options in scene.waits:
        stage.waits(*options)
    change = None

    def do() -> None:
        nonlocal change
        change = stage.carry(stage.change(scene.after, force=scene.force))

    impact = holds_true(stage, Edit(BASE, scene.after, scene.force), do)
    assert change is not None and change.status == ChangeStatus.COMMITTED, change.why
    assert change.impact and change.impact["sort"] == impact.sort


OPERATIONS: dict[str, tuple[Callable[[ClusterSpec], Act], Callable[[Door], None]]] = {
    "the controller restarts": (
        lambda spec: RestartPart(spec, PartKind.CONTROLLER),
        lambda door: restarts.restart(door, "controller"),
    ),
    "the login node restarts": (
        lambda spec: RestartPart(spec, PartKind.LOGIN),
        lambda door: restarts.restart(door, "login"),
    ),
    "all workers restart": (
        lambda spec: RestartPart(spec, PartKind.WORKERS),
        lambda door: restarts.restart(door, "workers"),
    ),
    "a node reboots": (
        lambda spec: Reboot(spec, ("slinky-0",)),
        lambda door: operations.reboot(door, ["slinky-0"]),
    ),
    "nodes are drained": (
        lambda spec: Drain(spec, ("slinky-0", "slinky-1")),
        lambda door: operations.drain(door, ["slinky-0", "slinky-1"], "a test"),
    ),
}


@pytest.mark.parametrize(
    ("act", "do"), [pytest.param(*one, id=name, marks=how_often(name)) for name, one in OPERATIONS.items()]
)
def test_an_operation(stage: Stage, act: Callable[[ClusterSpec], Act], do: Callable[[Door], None]) -> None:
    for node in ("slinky-0", "slinky-0", "slinky-1"):
        stage.runs(node)
    stage.waits()
    holds_true(stage, act(BASE), lambda: do(door_of(stage)))


@pytest.mark.long
def test_a_resume(stage: Stage) -> None:
    stage.runs("slinky-1")
    stage.ask("scontrol", "update", "nodename=slinky-1", "state=drain", "reason=a test")
    holds_true(stage, Resume(BASE, ("slinky-1",)), lambda: operations.resume(door_of(stage), ["slinky-1"]))
    assert stage.states()["slinky-1"] == "mixed"


@pytest.mark.long
def test_a_reconfigure(stage: Stage) -> None:
    stage.runs("slinky-0")
    stage.waits()
    holds_true(
        stage, Reapply(BASE), lambda: stage.carry(changes.reconfigure(stage.cluster, by=stage.cast.ada))
    )


@pytest.mark.long
def test_a_rollback(stage: Stage) -> None:
    assert stage.carry(stage.change(only(BASE, 0, 1, 2, 3))).status == ChangeStatus.COMMITTED
    stage.look()
    stage.runs("slinky-0")

    def back() -> None:
        change = changes.rollback_to(stage.cluster, 1, base=stage.number, by=stage.cast.ada)
        assert stage.carry(change).status == ChangeStatus.COMMITTED

    holds_true(stage, Edit(stage.spec, BASE), back)


@pytest.mark.long
def test_jobs_end_for_good_where_slurm_conf_says_so(stage: Stage) -> None:
    assert stage.carry(stage.change(BASE.with_slurm_conf("JobRequeue=0\n"))).status == ChangeStatus.COMMITTED
    stage.runs("slinky-0")
    impact = holds_true(
        stage, Reboot(stage.spec, ("slinky-0",)), lambda: operations.reboot(door_of(stage), ["slinky-0"])
    )
    assert [job.fate for job in impact.jobs] == [Fate.ENDS]


def test_a_volume_comes_and_goes(stage: Stage) -> None:
    volume = Volume.objects.create(
        team=stage.cast.team, region=stage.cluster.region, slug="scratch", kind=VolumeKind.SFS, size_gib=1,
        phase=Phase.READY, seen_gib=1,
    )  # fmt: skip
    volume.store.keep(VolumeRef(volume.key, volume.slug, stage.cast.team.slug, VolumeKind.SFS, 1))
    mounts = replace(BASE, mounts=(Mount(volume.key, "scratch", "/scratch"),))
    stage.runs("slinky-0")
    for before, after in ((BASE, mounts), (mounts, BASE)):
        change = None

        def do(after: ClusterSpec = after) -> None:
            nonlocal change
            change = stage.carry(stage.change(after))

        impact = holds_true(stage, Edit(before, after), do)
        assert change is not None and change.status == ChangeStatus.COMMITTED, change.why
        assert impact.mounted == tuple(mount.path for mount in after.mounts)


@pytest.mark.parametrize(
    ("after", "node", "options"),
    [
        (only(BASE, 0, 1), "slinky-2", ()),
        (replace(BASE, groups=BASE.groups[:1]), "cpu-workers-0", ("-p", "cpu-workers")),
    ],
    ids=["a node", "a group with its partition"],
)
def test_nodes_that_go_are_waited_for(
    stage: Stage, after: ClusterSpec, node: str, options: tuple[str, ...]
) -> None:
    job, other = stage.runs(node, *options), stage.runs("slinky-0")
    act = Edit(BASE, after)
    impact = stage.promise(act)
    assert promised_fates(stage, impact) == {job: Fate.AWAITED, other: Fate.GOES_ON}
    change = stage.carry(stage.change(act.after))
    assert change.rests and stage.fates() == {job: Fate.GOES_ON, other: Fate.GOES_ON}
    assert change.waits_for
    stage.mark()
    stage.ask("scancel", job)
    stage.until(lambda: stage.carry(change).status == ChangeStatus.COMMITTED, "committed")
    stage.settled()
    assert stage.fates()[other] is Fate.GOES_ON
    assert stage.lost() == promised_losses(impact) == {(node, place) for place in PLACES}


@pytest.mark.parametrize("what", [pytest.param("a node", marks=LONG), "the workers"])
def test_a_restart_when_idle_waits_for_each_nodes_own_jobs(stage: Stage, what: str) -> None:
    job = stage.runs("slinky-0")
    nodes = ("slinky-0",) if what == "a node" else BASE.node_names
    act: Act = Reboot(BASE, nodes, when_idle=True)
    if what == "the workers":
        act = RestartPart(BASE, PartKind.WORKERS, when_idle=True)
    impact = stage.promise(act)
    assert promised_fates(stage, impact) == {job: Fate.AWAITED}
    stage.mark()
    before = stage.epochs()
    door = door_of(stage)
    if what == "a node":
        operations.reboot(door, list(nodes), when_idle=True)
    else:
        restarts.restart(door, "workers", when_idle=True)
    for _ in range(3):
        stage.look()
    assert stage.fates() == {job: Fate.GOES_ON} and "slurmd-slinky-0" not in restarted(before, stage.epochs())
    stage.ask("scancel", job)

    def is_over() -> bool:
        stage.look()
        return set(stage.states().values()) == {"idle"} and bool(restarted(before, stage.epochs()))

    stage.until(is_over, "restarted", stage.states)
    assert restarted(before, stage.epochs()) == promised_restarts(impact)
    assert stage.lost() == promised_losses(impact)


def test_the_end(stage: Stage) -> None:
    """Last: the cluster does not come back in this file."""
    job, waits = stage.runs("slinky-0"), stage.waits()
    stage.mark()
    stage.ask("mkdir", "-p", "/home/mo")
    stage.ask("dd", "if=/dev/zero", "of=/home/mo/data", "bs=1M", "count=3")
    assert Home("mo", 3) in [replace(home, bytes=home.bytes // 2**20) for home in stage.sandbox.homes()]
    impact = stage.promise(Terminate(BASE))
    # Where all ends, those that wait are counted and not listed.
    assert {one.job_id: one.fate for one in impact.jobs} == {job: Fate.ENDS}
    assert waits in stage.waiting and impact.number(Fate.DROPPED) == 1
    change = stage.carry(changes.terminate(stage.cluster, by=stage.cast.ada))
    assert change.status == ChangeStatus.COMMITTED
    assert stage.epochs() == {}
    with pytest.raises(Unavailable):
        stage.sandbox.homes()
    assert impact.loses_homes
    rows = dict(Cluster.objects.get(pk=stage.cluster.pk).jobs.values_list("job_id", "is_finished"))
    assert rows[job] and rows[waits]
    assert set(impact.nodes_that(Does.STOPS)) == set(BASE.node_names)


def holds_true(stage: Stage, act: Act, do: Callable[[], object]):
    """Take the preview, do it, and compare. Returns the preview."""
    stage.mark()
    impact = stage.promise(act)
    before = stage.epochs()
    do()
    stage.settled()
    assert stage.fates() == promised_fates(stage, impact)
    after = stage.epochs()
    assert restarted(before, after) == promised_restarts(impact)
    assert gone(before, after) == set(impact.nodes_that(Does.GOES))
    assert stage.lost() == promised_losses(impact)
    return impact


def door_of(stage: Stage) -> Door:
    return Door(Cluster.objects.get(pk=stage.cluster.pk), stage.cast.ada)
