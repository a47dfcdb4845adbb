"""What every provisioner promises (`clusters/provisioner.py`), held against the fake and against real daemons."""

import inspect
import time
from dataclasses import replace

import pytest

from clusters.observation import PartState, Verdict
from clusters.provisioner import Provisioner
from clusters.spec import NodeGroup, PartitionSpec
from console.errors import Unavailable
from tests.clusters.polling import until
from tests.contracts.platforms import GPU, SPEC, Platform, with_partition

pytestmark = pytest.mark.timeout(300)
METHODS = [
    name for name, _ in inspect.getmembers(Provisioner, inspect.isfunction) if not name.startswith("_")
]


@pytest.mark.parametrize("method", METHODS)
def test_the_adapter_takes_what_the_port_says(platform: Platform, method):
    wanted = inspect.signature(getattr(Provisioner, method)).parameters
    has = inspect.signature(getattr(type(platform.provisioner), method)).parameters
    assert list(has) == list(wanted)
    assert [p.kind for p in has.values()] == [p.kind for p in wanted.values()]


def test_what_never_was_is_looked_at_without_an_error(nothing):
    seen = nothing.observe()
    assert seen.nodes is None and seen.partitions is None and seen.jobs is None
    assert seen.problem
    assert not [part for part in seen.parts if part.state is PartState.UP]
    assert nothing.judge(SPEC).verdict is Verdict.WAITING
    assert nothing.revive() == ()
    with pytest.raises(Unavailable):
        nothing.login()


def test_what_never_was_can_be_ended(nothing):
    nothing.terminate(lambda text: None)
    nothing.destroy(lambda text: None)


def test_a_render_is_the_same_for_the_same_spec(platform: Platform):
    assert platform.provisioner.render(SPEC) == platform.provisioner.render(replace(SPEC))
    assert platform.provisioner.render(SPEC) != platform.provisioner.render(
        with_partition(max_time_minutes=61)
    )


def test_applying_brings_every_node_and_part_up(platform: Platform):
    platform.provisioner.terminate(lambda text: None)
    platform.apply(SPEC)
    platform.settle(SPEC)
    assert platform.said
    seen = platform.provisioner.observe()
    assert {node.name for node in seen.nodes} == set(SPEC.node_names)
    assert all(node.state.takes_jobs for node in seen.nodes)
    assert {part.state for part in seen.parts} == {PartState.UP}
    assert len({part.name for part in seen.parts}) == len(seen.parts)
    assert {"accounting", "controller", "worker", "login"} <= {part.kind for part in seen.parts}
    assert (seen.problem, seen.drift) == ("", "")


def test_nodes_are_seen_with_their_shape_and_a_machine(platform: Platform):
    platform.make()
    nodes = {node.name: node for node in platform.provisioner.observe().nodes}
    assert (nodes["slinky-0"].gpus, nodes["slinky-0"].cpus, nodes["slinky-0"].gpus_allocated) == (2, 4, 0)
    assert nodes["cpu-workers-0"].gpus == 0
    assert len({node.machine for node in nodes.values()}) == len(nodes)
    assert "debug" not in nodes["slinky-1"].partitions


def test_platform_and_own_partitions_are_seen(platform: Platform):
    platform.make()
    seen = {partition.name: partition for partition in platform.provisioner.observe().partitions}
    assert set(seen) == {"all", "slinky", "cpu-workers", "debug"}
    assert [name for name, partition in seen.items() if partition.is_default] == ["all"]


def test_applying_again_changes_nothing(platform: Platform):
    platform.make()
    platform.apply(SPEC)
    platform.settle(SPEC)
    assert {node.name for node in platform.provisioner.observe().nodes} == set(SPEC.node_names)


def test_a_check_finds_the_line_and_touches_nothing(platform: Platform):
    platform.make()
    began = time.monotonic()
    problems = platform.provisioner.check(SPEC.with_slurm_conf(f"# one\n{platform.bad_line}\n"))
    assert time.monotonic() - began < 5
    assert [(p.path, p.line) for p in problems if p.blocking] == [("slurm_conf", 2)]
    assert platform.provisioner.judge(SPEC).verdict is Verdict.DONE


def test_a_good_spec_passes_the_check(platform: Platform):
    platform.make()
    grown = replace(SPEC, groups=(NodeGroup("slinky", GPU, (0, 1, 2)), SPEC.groups[1]))
    assert [p for p in platform.provisioner.check(grown) if p.blocking] == []


@pytest.mark.parametrize(
    "other",
    [
        SPEC.with_slurm_conf("MaxJobCount=30000\n"),
        SPEC.with_slurm_conf(""),
        SPEC.with_partitions((*SPEC.partitions, PartitionSpec("more", "ALL"))),
        SPEC.with_partitions(()),
        with_partition(max_time_minutes=90),
        with_partition(nodes="slinky-1"),
        replace(SPEC, groups=(NodeGroup("slinky", GPU, (0, 1, 2)), SPEC.groups[1])),
        replace(SPEC, groups=(NodeGroup("slinky", GPU, (0,)), SPEC.groups[1])),
    ],
    ids=["value", "line gone", "partition", "partition gone", "time limit", "nodes", "grown", "shrunk"],
)
def test_what_was_not_applied_is_not_judged_done(platform: Platform, other):
    platform.make()
    assert platform.provisioner.judge(other).verdict is not Verdict.DONE


def test_what_the_daemon_refuses_is_told_and_the_old_cluster_goes_on(platform: Platform):
    platform.make()
    assert platform.refusal_of(SPEC.with_slurm_conf(f"{platform.deadly_line}\n"))
    platform.apply(SPEC)
    platform.settle(SPEC)
    assert platform.provisioner.executor().run(["scontrol", "ping"]).code == 0


def test_nodes_are_added_and_taken_away_by_their_ordinals(platform: Platform):
    platform.make()
    for ordinals in ((0, 1, 2), (0, 2), (0, 1)):
        spec = replace(SPEC, groups=(NodeGroup("slinky", GPU, ordinals), SPEC.groups[1]))
        platform.make(spec)
        assert {node.name for node in platform.provisioner.observe().nodes} == set(spec.node_names)


SMALLER = replace(SPEC, groups=(NodeGroup("slinky", GPU, (0,)), SPEC.groups[1]))


def test_a_node_that_goes_is_drained_and_waited_for(platform: Platform):
    platform.make()
    job = platform.occupy("slinky-1")
    platform.apply(SMALLER)
    judgement = platform.wait_patiently(SMALLER)
    assert judgement.verdict is Verdict.WAITING
    assert "slinky-1" in judgement.why
    assert platform.runs(job)
    assert not platform.node("slinky-1").state.takes_jobs
    platform.vacate(job)
    platform.settle(SMALLER)
    assert platform.node("slinky-1") is None
    platform.make()
    assert until(lambda: platform.node("slinky-1").state.takes_jobs, 30), platform.node("slinky-1")


def test_a_node_that_was_to_go_and_stays_takes_jobs_again(platform: Platform):
    platform.make()
    job = platform.occupy("slinky-1")
    platform.apply(SMALLER)
    platform.apply(SPEC)
    platform.settle(SPEC)
    assert platform.runs(job)
    # Slurm asks a resumed node for an answer first.
    assert until(lambda: platform.node("slinky-1").state.takes_jobs, 30), platform.node("slinky-1")
    platform.vacate(job)


def test_force_ends_the_jobs_of_a_node_that_goes(platform: Platform):
    platform.make()
    job = platform.occupy("slinky-1")
    platform.apply(SMALLER, force=True)
    platform.settle(SMALLER)
    assert platform.node("slinky-1") is None
    assert not platform.runs(job)
    platform.make()


def test_a_wait_for_jobs_is_cut_short_by_force(platform: Platform):
    platform.make()
    job = platform.occupy("slinky-1")
    platform.apply(SMALLER)
    platform.wait_patiently(SMALLER)
    platform.apply(SMALLER, force=True)
    platform.settle(SMALLER)
    assert platform.node("slinky-1") is None and not platform.runs(job)
    platform.make()


def test_a_node_that_waits_for_its_restart_is_restarted_at_once_when_asked_again(platform: Platform):
    platform.make()
    job = platform.occupy("slinky-0")
    platform.provisioner.restart("slinky-0", lambda text: None, when_idle=True)
    platform.provisioner.restart("slinky-0", lambda text: None)

    def is_back() -> bool:
        platform.provisioner.revive()
        return platform.node("slinky-0").state.takes_jobs and not platform.runs(job)

    assert until(is_back, 60), platform.node("slinky-0")
    platform.settle(SPEC)


def test_a_node_restarts_when_its_jobs_have_ended(platform: Platform):
    platform.make()
    job = platform.occupy("slinky-0")
    said: list[str] = []
    platform.provisioner.restart("slinky-0", said.append, when_idle=True)
    assert said
    seen = platform.provisioner.observe()
    assert seen.unfinished or any(part.state is not PartState.UP for part in seen.parts)
    assert platform.provisioner.revive() == ()
    assert platform.runs(job)
    assert not platform.node("slinky-0").state.takes_jobs
    platform.vacate(job)

    def is_back() -> bool:
        said.extend(platform.provisioner.revive())
        return platform.node("slinky-0").state.takes_jobs

    assert until(is_back, 60), platform.node("slinky-0")
    assert "restart" in said[-1]
    platform.settle(SPEC)


def test_a_volume_is_at_its_path_on_every_machine_and_outlives_the_mount(platform: Platform):
    platform.make()
    mount = platform.a_volume()
    mounted = SPEC.with_mounts((mount,))
    assert platform.provisioner.judge(mounted).verdict is not Verdict.DONE
    platform.make(mounted)
    for node in SPEC.node_names:
        platform.write(node, f"/shared/{node}", node)
    machines = ("login", *SPEC.node_names)
    seen = {
        machine: [platform.read(machine, f"/shared/{node}") for node in SPEC.node_names]
        for machine in machines
    }
    assert seen == dict.fromkeys(machines, list(SPEC.node_names))
    platform.make()
    assert {platform.read(machine, "/shared/slinky-0") for machine in machines} == {""}
    elsewhere = replace(mount, path="/data/elsewhere", read_only=True)
    platform.make(SPEC.with_mounts((elsewhere,)))
    assert platform.read("login", "/data/elsewhere/slinky-0") == "slinky-0"
    platform.make()


def test_commands_run_beside_the_controller(platform: Platform):
    platform.make()
    done = platform.provisioner.executor().run(["scontrol", "ping"])
    assert done.code == 0
    assert isinstance(done.stdout, bytes) and b"is UP" in done.stdout


def test_the_login_node_names_its_host_key(platform: Platform):
    platform.make()
    endpoint = platform.provisioner.login()
    assert endpoint.host_key.startswith("ssh-")
    assert endpoint.user and 0 < endpoint.port < 65_536


def test_a_restart_of_the_controller_is_over_when_the_judge_says_so(platform: Platform):
    platform.make()
    said: list[str] = []
    platform.provisioner.restart("controller", said.append)
    assert said
    platform.settle(SPEC)


def test_nothing_is_revived_while_all_is_up(platform: Platform):
    platform.make()
    platform.provisioner.revive()  # tells once what died and came back in earlier tests
    assert platform.provisioner.revive() == ()


def test_a_cluster_that_fell_over_is_revived_as_it_was(platform: Platform):
    platform.make()
    platform.fall_over()
    seen = platform.provisioner.observe()
    assert seen.nodes is None and seen.problem
    assert platform.provisioner.revive() or platform.heals_itself
    platform.settle(SPEC)


def test_a_terminated_cluster_is_quiet_and_can_be_made_again(platform: Platform):
    platform.make()
    said: list[str] = []
    for _ in range(2):
        platform.provisioner.terminate(said.append)
    assert said
    seen = platform.provisioner.observe()
    assert seen.nodes is None and seen.problem
    assert not [part for part in seen.parts if part.state is PartState.UP]
    platform.make()


def test_a_destroyed_cluster_is_as_if_it_never_was_but_for_its_volumes(platform: Platform):
    mounted = SPEC.with_mounts((platform.a_volume(),))
    platform.make(mounted)
    platform.write("slinky-0", "/shared/kept", "kept")
    platform.provisioner.terminate(lambda text: None)
    for _ in range(2):
        platform.provisioner.destroy(lambda text: None)
    seen = platform.provisioner.observe()
    assert seen.nodes is None and not seen.parts
    platform.make(mounted)
    assert platform.read("login", "/shared/kept") == "kept"
    platform.make()
