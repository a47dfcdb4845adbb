"""What people may do to nodes and jobs, and what is written down about it."""

from datetime import UTC, datetime, timedelta

import pytest

from clusters.access import Door
from clusters.lifecycle import Status
from clusters.provisioner import Completed
from console import members
from console.errors import Conflict, Forbidden, Missing, Rejected, Unavailable
from console.models import Event
from slurm import operations
from slurm.drains import RESTARTS
from slurm.jobs.filters import mine
from slurm.jobs.reading import own_of
from slurm.models import Job, Submission
from tests.cast import a_node, fake, tiny_spec
from tests.fakes import FakeProvisioner
from tests.slurm.scripted import Scripted

pytestmark = pytest.mark.django_db
DONE = Completed(0, b"", "")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def slurm(monkeypatch) -> Scripted:
    """Slurm that does all it is told; tests change its answers."""
    executor = Scripted({"scontrol": DONE, "scancel": DONE, "sbatch": b"41\n"})
    monkeypatch.setattr(FakeProvisioner, "executor", lambda self, login="": executor)
    return executor


@pytest.fixture
def nodes(cluster):
    return [a_node(cluster, f"slinky-{n}") for n in range(3)]


def last_event() -> Event:
    return Event.objects.latest("pk")


def test_drain_says_who_and_why_on_the_node_and_in_the_audit_trail(cast, cluster, nodes, slurm):
    operations.drain(Door(cluster, cast.ben), ["slinky-0", "slinky-2"], " XID 79\n on  GPU 2 ")
    assert slurm.asked == [
        ["scontrol", "update", "nodename=slinky-0,slinky-2", "state=drain", "reason=XID 79 on GPU 2 (by ben)"]
    ]
    event = last_event()
    assert (event.verb, event.who, event.target, event.outcome) == (
        "node.drain",
        "ben",
        "slinky-0, slinky-2",
        "done",
    )
    assert event.detail == {"reason": "XID 79 on GPU 2"} and event.cluster == cluster.slug


@pytest.mark.parametrize(
    "name", ["ALL", "slinky-[0-2]", "slinky-9", "slinky-0,slinky-1", "", "slinky-0 state=down"]
)
def test_only_nodes_of_the_cluster_by_their_own_name_reach_slurm(cast, cluster, nodes, slurm, name):
    with pytest.raises(Missing):
        operations.resume(Door(cluster, cast.ben), ["slinky-0", name])
    assert slurm.asked == []


@pytest.mark.parametrize("reason", ["", " \n\t ", "x" * 201])
def test_drain_needs_a_reason_of_a_sentence(cast, cluster, nodes, slurm, reason):
    with pytest.raises(Rejected) as refused:
        operations.drain(Door(cluster, cast.ben), ["slinky-0"], reason)
    assert [problem.path for problem in refused.value.problems] == ["reason"]
    assert slurm.asked == []


def test_viewer_cannot_drain_and_the_refusal_is_written_down(cast, cluster, nodes, slurm):
    with pytest.raises(Forbidden):
        operations.drain(Door(cluster, cast.cy), ["slinky-0"], "because")
    assert slurm.asked == []
    assert (last_event().verb, last_event().outcome, last_event().who) == ("node.drain", "refused", "cy")


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.RUNNING])
def test_a_cluster_that_does_not_run_is_not_operated(cast, cluster, nodes, slurm, status):
    cluster.status = status
    with pytest.raises(Conflict, match=status.value):
        operations.cancel(Door(cluster, cast.ada), ["7"])
    assert slurm.asked == []


def test_member_controls_what_they_submitted_and_nothing_else(cast, cluster, slurm):
    door = Door(cluster, cast.mo)
    assert operations.submit(door, "#!/bin/sh\r\ntrue\r\n") == 41
    assert Submission.objects.get().by == cast.mo.user
    operations.cancel(door, ["41", "41_3", "41_[4-9%2]"])
    assert slurm.asked[-1] == ["scancel", "-v", "41", "41_3", "41_[4-9]"]
    for job_ids in (["42"], ["41", "42"]):
        with pytest.raises(Forbidden):
            operations.cancel(door, job_ids)
    assert last_event().outcome == "refused"


def test_operator_controls_any_job(cast, cluster, slurm):
    door = Door(cluster, cast.ben)
    operations.hold(door, ["7", "8"])
    operations.release(door, ["7"])
    operations.requeue(door, ["8_2"])
    assert slurm.asked == [
        ["scontrol", "uhold", "7,8"],
        ["scontrol", "release", "7"],
        ["scontrol", "requeue", "8_2"],
    ]
    assert [e.verb for e in Event.objects.order_by("pk")] == ["job.hold", "job.release", "job.requeue"]


def test_a_submission_of_a_number_used_again_is_not_the_new_jobs(cast, cluster, slurm):
    door = Door(cluster, cast.mo)
    first = Submission.objects.create(cluster=cluster, number=7, by=cast.mo.user)
    Submission.objects.filter(pk=first.pk).update(at=NOON)
    a_job(cluster, NOON, is_finished=True)
    assert operations.is_own(door, ["7"])
    a_job(cluster, NOON + timedelta(hours=2))
    assert not operations.is_own(door, ["7"])
    Submission.objects.filter(pk=first.pk).update(at=NOON + timedelta(hours=2))
    assert operations.is_own(door, ["7"])
    Submission.objects.create(cluster=cluster, number=7, by=cast.ada.user)
    assert not operations.is_own(door, ["7"])


def a_job(cluster, at, **facts) -> Job:
    return Job.objects.create(
        cluster=cluster, key="7", job_id="7", number=7, submit_at=at, user="root", state="RUNNING", **facts
    )


def test_ids_that_are_none_never_reach_slurm(cast, cluster, slurm):
    door = Door(cluster, cast.ada)
    for job_ids in (["7", "--me"], ["-u root"], [""], []):
        with pytest.raises(Rejected):
            operations.cancel(door, job_ids)
    assert slurm.asked == []


def test_what_slurm_says_becomes_the_error_and_a_failed_event(cast, cluster, slurm):
    slurm.answers["scancel"] = Completed(0, b"", "scancel: Terminating job 7\nscancel: error: Kill job error on job id "
                                                 "7: Job/step already completing or completed\n")  # fmt: skip
    with pytest.raises(Conflict, match="ended already"):
        operations.cancel(Door(cluster, cast.ben), ["7"])
    slurm.answers["scancel"] = Unavailable("scancel did not answer within 10 s.")
    with pytest.raises(Unavailable):
        operations.cancel(Door(cluster, cast.ben), ["7"])
    assert [e.outcome for e in Event.objects.order_by("pk")] == ["refused", "failed"]
    assert "did not answer" in last_event().detail["error"]


def test_reboot_restarts_each_node_of_the_platform(cast, cluster, nodes, monkeypatch):
    done: list[str] = []
    monkeypatch.setattr(FakeProvisioner, "restart", lambda self, part, say, when_idle: done.append(part))
    operations.reboot(Door(cluster, cast.ben), ["slinky-0", "slinky-1", "slinky-0"])
    assert done == ["slinky-0", "slinky-1"] and last_event().verb == "node.reboot"


def test_viewer_cannot_submit_and_a_script_has_a_size(cast, cluster, slurm):
    with pytest.raises(Forbidden):
        operations.submit(Door(cluster, cast.cy), "#!/bin/sh\n")
    with pytest.raises(Rejected):
        operations.submit(Door(cluster, cast.mo), "#!/bin/sh\n" + "x" * 2**20)
    assert slurm.asked == [] and not Submission.objects.exists()


def test_reboot_now_and_when_idle_reach_the_platform_as_asked(cast, cluster, nodes):
    door = Door(cluster, cast.ben)
    fake(cluster).apply(tiny_spec(nodes=3), lambda text: None)
    operations.reboot(door, ["slinky-0"])
    operations.reboot(door, ["slinky-1", "slinky-2"], when_idle=True)
    world = fake(cluster).world
    assert world.restarts == ["slinky-0"] and set(world.drained) == {"slinky-1", "slinky-2"}
    assert [e.detail for e in Event.objects.order_by("pk")] == [{"when": "now"}, {"when": "idle"}]


def test_a_node_that_a_person_drained_is_not_made_to_wait_for_a_reboot(cast, cluster, nodes):
    cluster.nodes.filter(name="slinky-1").update(health="draining", reason="XID 79 (by ben)")
    with pytest.raises(Conflict, match="slinky-1 is drained already"):
        operations.reboot(Door(cluster, cast.ben), ["slinky-0", "slinky-1"], when_idle=True)
    assert not fake(cluster).world.drained


def test_a_reboot_that_waits_may_be_asked_for_twice(cast, cluster, nodes):
    cluster.nodes.filter(name="slinky-1").update(health="draining", reason=RESTARTS)
    operations.reboot(Door(cluster, cast.ben), ["slinky-1"], when_idle=True)
    assert set(fake(cluster).world.drained) == {"slinky-1"}


def test_member_controls_the_jobs_of_slurm_users_linked_to_them(cast, cluster, slurm):
    at = {"submit_at": NOON, "state": "RUNNING"}
    for number, user in ((7, "mo-ci"), (8, "ada")):
        cluster.jobs.create(key=str(number), number=number, job_id=str(number), user=user, **at)
    door = Door(cluster, cast.mo)
    with pytest.raises(Forbidden):
        operations.cancel(door, ["7"])
    members.link_slurm_users("mo", ["mo-ci"], by=cast.ada)
    operations.cancel(door, ["7"])
    assert [
        job.number for job in cluster.jobs.filter(pk__in=own_of(cluster, cast.mo.user, cluster.jobs.all()))
    ] == [7]
    with pytest.raises(Forbidden):
        operations.cancel(door, ["7", "8"])
    assert cluster.jobs.filter(mine([cluster], cast.mo.user)).get().number == 7
