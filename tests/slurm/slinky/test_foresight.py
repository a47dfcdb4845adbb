"""What an act touches on Kubernetes, told from the objects that it changes."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from clusters.acts import Act, Does, Edit, Fate, PartKind, Reapply, Reboot, RestartPart, Terminate, Touch
from clusters.spec import ClusterSpec, Mount, PartitionSpec
from slurm.provisioners.slinky.foresight import OF_LOGIN, OF_WORKER, foresee
from slurm.provisioners.slinky.render import render
from tests.slurm.slinky.designs import DEMO, design_of

W, C, L, A = PartKind.WORKERS, PartKind.CONTROLLER, PartKind.LOGIN, PartKind.ACCOUNTING


def touches(act: Act) -> tuple[Touch, ...]:
    specs = (act.before, act.after) if isinstance(act, Edit) else ()
    before, after = [render(design_of(spec)) for spec in specs] or ((), ())
    return foresee(act, before, after, design_of(DEMO).names)


def edit(change: Callable[[ClusterSpec], ClusterSpec], *, force: bool = False) -> tuple[Touch, ...]:
    return touches(Edit(DEMO, change(DEMO), force))


def steps(found: tuple[Touch, ...]) -> list[tuple[PartKind, Does]]:
    return [(touch.part, touch.does) for touch in found]


def gpu_nodes(*ordinals: int) -> Callable[[ClusterSpec], ClusterSpec]:
    return lambda spec: replace(spec, groups=(replace(spec.groups[0], ordinals=ordinals), *spec.groups[1:]))


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec.with_slurm_conf("MaxJobCount=15000\n"),
        lambda spec: spec.with_partitions((*spec.partitions, PartitionSpec("night", "slinky-0"))),
    ],
)
def test_a_new_configuration_is_read_in_the_running_pod(change):
    assert steps(edit(change)) == [(C, Does.READS)]


def test_new_keys_restart_the_login_node_alone():
    [touch] = edit(lambda spec: replace(spec, ssh_keys=("ssh-ed25519 AAAA ben",)))
    assert touch == Touch(L, Does.RESTARTS, loses=OF_LOGIN)


def test_a_volume_restarts_the_login_node_and_each_worker_when_its_jobs_have_ended():
    found = edit(lambda spec: replace(spec, mounts=(*spec.mounts, Mount("vnew00000001", "new", "/new"))))
    workers = [touch for touch in found if touch.part is W]
    assert {(t.does, t.jobs, t.loses, t.is_rolling) for t in workers} == {
        (Does.RESTARTS, Fate.AWAITED, OF_WORKER, True)
    }
    assert {name for touch in workers for name in touch.nodes} == set(DEMO.node_names)
    assert (L, Does.RESTARTS) in steps(found) and (C, Does.RESTARTS) not in steps(found)


def test_another_version_restarts_everything_in_the_order_of_an_upgrade():
    found = edit(lambda spec: replace(spec, slurm_version="26.11"))
    parts = list(dict.fromkeys(touch.part for touch in found if touch.does is Does.RESTARTS))
    assert parts == [A, C, W, L]


def test_fewer_nodes_are_waited_for_and_the_others_stay_as_they_are():
    last = DEMO.groups[0].ordinals[-1]
    found = edit(gpu_nodes(*DEMO.groups[0].ordinals[:-1]))
    assert found[0] == Touch(W, Does.GOES, (f"slinky-{last}",), Fate.AWAITED, OF_WORKER)
    assert (W, Does.RESTARTS) not in steps(found)
    assert edit(gpu_nodes(*DEMO.groups[0].ordinals[:-1]), force=True)[0].jobs is Fate.ENDS


def test_more_nodes_come_last_and_touch_no_other():
    found = edit(gpu_nodes(*DEMO.groups[0].ordinals, 99))
    assert found[-1] == Touch(W, Does.COMES, ("slinky-99",))
    assert not [touch for touch in found if touch.does is Does.RESTARTS]


def test_no_difference_touches_nothing():
    assert edit(lambda spec: spec) == ()


def test_operations():
    [workers] = touches(RestartPart(DEMO, W))
    assert (workers.jobs, workers.is_rolling) == (Fate.AWAITED, True)
    assert touches(RestartPart(DEMO, C)) == (Touch(C, Does.RESTARTS),)
    [node] = touches(Reboot(DEMO, ("slinky-0",)))
    assert (node.jobs, node.loses) == (Fate.QUEUED, OF_WORKER)
    assert touches(Reboot(DEMO.with_slurm_conf("JobRequeue=0\n"), ("slinky-0",)))[0].jobs is Fate.ENDS
    assert touches(Reboot(DEMO, ("slinky-0",), when_idle=True))[0].jobs is Fate.AWAITED
    assert touches(Reapply(DEMO)) == (Touch(C, Does.READS),)
    assert {touch.does for touch in touches(Terminate(DEMO))} == {Does.STOPS}
