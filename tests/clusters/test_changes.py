"""Asking for changes: who may, when, from which base; and that nothing is written when the answer is no."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection

from clusters import changes, opening
from clusters.conflicts import Busy, StaleBase
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus, Kind
from clusters.models import Change, Cluster
from clusters.spec import NodeGroup, Shape, to_json
from console.errors import Conflict, ConsoleError, Forbidden, Missing, Rejected
from console.models import Event, Membership
from console.roles import Role
from tests.cast import GPU_SHAPE, the_cast, tiny_cluster, tiny_spec


def with_conf(cluster: Cluster, text: str = "# more") -> Callable[..., Change]:
    spec = cluster.spec.with_slurm_conf(text)
    return lambda by, base=1: changes.propose(cluster, spec, base=base, by=by)


def paths(error: Rejected) -> list[str]:
    return [problem.path for problem in error.problems]


def test_a_proposal_is_a_revision_a_change_and_an_event(cluster, cast):
    change = with_conf(cluster)(cast.ada)
    assert (change.number, change.revision.number, change.base.number) == (1, 2, 1)
    assert change.status == ChangeStatus.PROPOSED
    assert change.summary == "slurm.conf: 1 line"
    assert Event.objects.get().verb == "change.proposed"
    assert cluster.revision.number == 1


def test_a_proposal_is_enqueued_on_commit_only(
    cluster, cast, django_capture_on_commit_callbacks, monkeypatch
):
    sent = []
    monkeypatch.setattr(opening.apply_change, "apply_async", lambda args, retry: sent.append(args))
    with django_capture_on_commit_callbacks(execute=True):
        change = with_conf(cluster)(cast.ada)
        assert not sent
    assert sent == [(change.pk,)]


@pytest.mark.parametrize("name", ["ben", "cy", "mo"])
def test_who_may_not_change_a_cluster_is_forbidden(cluster, cast, name):
    with pytest.raises(Forbidden):
        with_conf(cluster)(getattr(cast, name))


def test_a_role_lost_since_the_form_was_opened_counts(cluster, cast):
    Membership.objects.filter(pk=cast.ada.pk).update(role=Role.VIEWER)
    with pytest.raises(Forbidden):
        with_conf(cluster)(cast.ada)


def test_a_member_of_another_team_finds_nothing(cluster, cast):
    other = the_cast("other")
    with pytest.raises(Missing):
        with_conf(cluster)(Membership.objects.create(team=other.team, user=cast.dee, role=Role.OWNER))


@pytest.mark.parametrize("act", [changes.terminate, changes.delete])
def test_only_the_owner_ends_a_cluster(cluster, cast, act):
    cluster.enter(Status.FAILED)
    cast.ben.role = Role.ADMIN
    cast.ben.save()
    with pytest.raises(Forbidden):
        act(cluster, by=cast.ben)


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.RUNNING])
def test_only_a_running_cluster_is_edited(cluster, cast, status):
    cluster.enter(status)
    with pytest.raises(Conflict, match="cannot be changed; it must be Running"):
        with_conf(cluster)(cast.ada)


def test_a_stale_base_carries_both_diffs(cluster, cast):
    spec = cluster.spec.with_slurm_conf("# theirs")
    cluster.revision = cluster.revisions.create(number=2, spec=to_json(spec))
    cluster.save()
    with pytest.raises(StaleBase) as caught:
        with_conf(cluster, "# yours")(cast.ada)
    assert [c.new for c in caught.value.theirs] == ["# theirs"]
    assert [c.new for c in caught.value.yours] == ["# yours"]
    assert (caught.value.base.number, caught.value.current.number) == (1, 2)
    assert not Change.objects.exists()


@pytest.mark.parametrize("base", [None, 7])
def test_a_base_that_does_not_exist_is_a_conflict(cluster, cast, base):
    with pytest.raises(Conflict, match="revision 1 is current"):
        with_conf(cluster)(cast.ada, base)


def test_a_second_change_is_told_which_one_is_live(cluster, cast):
    with_conf(cluster)(cast.ada)
    with pytest.raises(Busy, match="Change 1 of tiny is proposed, since .*: slurm.conf: 1 line"):
        with_conf(cluster, "# other")(cast.ada)
    assert cluster.revisions.count() == 2


def test_an_edit_in_progress_is_not_given_up_for_a_termination(cluster, cast):
    with_conf(cluster)(cast.ada)
    with pytest.raises(Busy):
        changes.terminate(cluster, by=cast.ada)
    cluster.refresh_from_db()
    assert cluster.status == Status.RUNNING


def test_nothing_to_change_is_rejected(cluster, cast):
    with pytest.raises(Rejected, match="changes nothing"):
        changes.propose(cluster, cluster.spec, base=1, by=cast.ada)


def test_a_wrong_spec_is_rejected_with_every_problem_and_writes_nothing(cluster, cast):
    bad = replace(
        cluster.spec, partitions=(replace(cluster.spec.partitions[0], name="ALL", nodes="slinky-9"),)
    )
    with pytest.raises(Rejected) as caught:
        changes.propose(cluster, bad, base=1, by=cast.ada)
    assert paths(caught.value) == ["partitions[0].name", "partitions[0].nodes"]
    assert cluster.revisions.count() == 1


def test_a_cluster_keeps_its_name(cluster, cast):
    with pytest.raises(Rejected) as caught:
        changes.propose(cluster, replace(cluster.spec, name="other"), base=1, by=cast.ada)
    assert paths(caught.value) == ["name"]


def test_rolling_back_is_an_edit_to_an_old_spec(cluster, cast, carry):
    assert carry(with_conf(cluster)(cast.ada)).status == ChangeStatus.COMMITTED
    change = carry(changes.rollback_to(cluster, 1, base=2, by=cast.ada))
    assert (change.kind, change.revision.number) == (Kind.EDIT, 3)
    assert change.revision.spec == cluster.revisions.get(number=1).spec
    assert change.summary == "Back to revision 1"


def test_a_revision_that_never_was_cannot_be_gone_back_to(cluster, cast):
    with pytest.raises(Missing):
        changes.rollback_to(cluster, 9, base=1, by=cast.ada)


def test_a_new_cluster_is_creating_with_a_change(cast, region):
    cluster = changes.create_cluster(cast.team, region, tiny_spec("fresh"), by=cast.ada)
    assert cluster.status == Status.CREATING
    assert cluster.changes.get().kind == Kind.CREATE


def test_a_name_in_use_is_refused_at_its_field(cluster, cast, region):
    with pytest.raises(Rejected) as caught:
        changes.create_cluster(cast.team, region, tiny_spec("tiny"), by=cast.ada)
    assert paths(caught.value) == ["name"]


def test_a_deleted_clusters_name_is_free(cluster, cast, region):
    cluster.enter(Status.DELETED)
    assert changes.create_cluster(cast.team, region, tiny_spec("tiny"), by=cast.ada).pk != cluster.pk


@pytest.mark.parametrize(
    ("shape", "path"),
    [
        (Shape("no-such-plan", 1, 1, 1), "groups[0].shape.plan"),
        (replace(GPU_SHAPE, gpus=16), "groups[0].shape.plan"),
    ],
)
def test_only_what_the_region_offers_can_be_asked_for(cast, region, shape, path):
    spec = replace(tiny_spec("fresh"), groups=(NodeGroup("slinky", shape, (0,)),))
    with pytest.raises(Rejected) as caught:
        changes.create_cluster(cast.team, region, spec, by=cast.ada)
    assert path in paths(caught.value)


def test_a_plan_that_is_no_longer_offered_does_not_stop_other_edits(cluster, cast):
    cluster.region.plans.all().delete()
    assert with_conf(cluster)(cast.ada).number == 1


def test_an_unknown_image_is_refused(cast, region):
    with pytest.raises(Rejected) as caught:
        changes.create_cluster(cast.team, region, replace(tiny_spec("fresh"), image="nope"), by=cast.ada)
    assert paths(caught.value) == ["image"]


@pytest.mark.django_db(transaction=True)
def test_of_two_proposals_at_the_same_time_exactly_one_wins():
    cast = the_cast()
    cluster = tiny_cluster(cast.team)

    def ask(n: int) -> Change:
        spec = cluster.spec.with_slurm_conf(f"# {n}")
        return changes.propose(Cluster.objects.get(pk=cluster.pk), spec, base=1, by=cast.ada)

    for round_ in range(10):
        answers = at_once(ask)
        assert sorted(type(answer).__name__ for answer in answers) == ["Busy", "Change"]
        assert cluster.revisions.count() == round_ + 2
        cluster.changes.update(status=ChangeStatus.REJECTED)


@pytest.mark.django_db(transaction=True)
def test_of_two_clusters_of_one_name_exactly_one_is_created():
    cast = the_cast()
    region = tiny_cluster(cast.team).region
    answers = at_once(lambda n: changes.create_cluster(cast.team, region, tiny_spec("twin"), by=cast.ada))
    assert sorted(type(answer).__name__ for answer in answers) == ["Cluster", "Rejected"]


def at_once(act: Callable[[int], object]) -> list[object]:
    """What two connections got for doing the same at the same time."""
    start, answers = threading.Barrier(2), []

    def one(n: int) -> None:
        start.wait()
        try:
            answers.append(act(n))
        except ConsoleError as error:
            answers.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    return answers
