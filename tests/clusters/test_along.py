"""Who signs in is held up by no wait: what waits for days takes along the logins and keys that come or go meanwhile."""

import json
from collections.abc import Callable

import pytest

from clusters import answers, changes, follow, logins, personal_keys
from clusters.conflicts import Busy
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster
from clusters.spec import Leaver
from console.errors import Rejected, Unavailable
from console.models import Event
from tests.cast import Cast, fake, tiny_spec
from tests.clusters.keys import ED25519, OTHER_ED25519
from tests.clusters.test_logins import added, cast, cluster, door
from tests.clusters.test_run import said

__all__ = ["cast", "cluster"]
pytestmark = pytest.mark.django_db
S = ChangeStatus
Carry = Callable[[Change], Change]


@pytest.fixture
def people(cluster: Cluster, cast: Cast) -> Cluster:
    """With mo and lin signed in by a key each, and jobs on slinky-1."""
    personal_keys.add(cast.mo.user, ED25519)
    found = added(added(cluster, cast, "mo"), cast, "ben")
    occupy(found, "slinky-1")
    return fresh(found)


def fresh(cluster: Cluster) -> Cluster:
    return Cluster.objects.select_related("team", "region", "revision").get(pk=cluster.pk)


def occupy(cluster: Cluster, *names: str) -> None:
    now = fake(cluster).world
    now.busy = list(names)
    fake(cluster).save(now)


def keys_there(cluster: Cluster) -> dict[str, list[str]]:
    """What opens each login on the platform itself."""
    document = json.loads(fake(cluster).world.running["nodes.json"])
    return {user["name"]: user["keys"] for user in document["logins"]["users"]}


def shrinking(cluster: Cluster, cast: Cast, carry: Carry) -> Change:
    """A scale-in that waits for the jobs on slinky-1."""
    spec = tiny_spec(nodes=1).with_logins(cluster.spec.logins)
    change = carry(changes.propose(cluster, spec, base=cluster.revision.number, by=cast.ada))
    assert change.rests and change.status == S.OBSERVING, said(change)
    return change


def restarting(cluster: Cluster, cast: Cast, carry: Carry) -> Change:
    change = changes.restart(cluster, ["slinky-1", "slinky-0"], by=cast.ben, at_once=1, when_idle=True)
    for _ in range(2):
        change = carry(change)
    assert change.rests, said(change)
    return change


WAITS = pytest.mark.parametrize("begin", [shrinking, restarting])


@WAITS
def test_a_key_that_somebody_removes_goes_at_once_and_the_wait_goes_on(people, cast, carry, begin) -> None:
    change = begin(people, cast, carry)
    drained = dict(fake(people).world.drained)
    assert keys_there(people)["mo"] == [ED25519]
    personal_keys.remove(cast.mo.user, cast.mo.user.ssh_keys.get().pk)
    change = carry(change)
    assert keys_there(people)["mo"] == [] and fresh(people).spec.logins.user("mo").keys == ()
    assert change.rests and not change.takes_along and set(fresh(people).spec.node_names) >= {"slinky-1"}
    assert (
        fake(people).world.drained == drained and people.changes.filter(number__gt=change.number).count() == 0
    )
    assert Event.objects.filter(verb="change.logins", target=f"change {change.number}").exists()


@WAITS
def test_a_login_that_an_admin_removes_goes_at_once_and_does_not_come_back(
    people, cast, carry, begin
) -> None:
    change = begin(people, cast, carry)
    at = door(people, cast.ada)
    taken = logins.remove(at, "mo", jobs="cancel", home="archive", base=at.cluster.revision.number)
    assert taken == change and "ada asked meanwhile" in said(taken)
    change = carry(change)
    assert set(keys_there(people)) == {"ben"} and change.rests
    assert fresh(people).spec.logins.leavers == (Leaver("mo", 20000, "cancel", "archive"),)
    occupy(people)
    for _ in range(6):
        fake(people).revive()
        change = carry(change)
    assert change.status == S.COMMITTED, said(change)
    assert set(keys_there(people)) == {"ben"} and fresh(people).spec.logins.user("mo") is None


def test_giving_the_wait_up_brings_no_key_back(people, cast, carry) -> None:
    change = shrinking(people, cast, carry)
    personal_keys.remove(cast.mo.user, cast.mo.user.ssh_keys.get().pk)
    answers.cancel(change, by=cast.ada)
    change = carry(change)
    assert change.status == S.STOPPED, said(change)
    assert keys_there(people)["mo"] == [] and fresh(people).revision == change.base
    assert set(fresh(people).spec.node_names) >= {"slinky-0", "slinky-1"} and not fake(people).world.drained


def test_it_is_said_to_be_gone_when_it_is_and_not_before(people, cast, carry) -> None:
    change = shrinking(people, cast, carry)
    personal_keys.remove(cast.mo.user, cast.mo.user.ssh_keys.get().pk)
    fake(people).script.apply = [Unavailable("The API server does not answer.")] * 2
    for _ in range(2):
        change = carry(change)
        assert (change.status, change.rests, change.takes_along) == (S.APPLYING, True, True)
        assert fresh(people).spec.logins.user("mo").keys == (ED25519,)
        follow.follow_all()
    change = carry(change)
    assert change.status == S.OBSERVING and fresh(people).spec.logins.user("mo").keys == ()
    assert people.revisions.count() == change.revision.number


def test_what_a_refused_restart_did_not_take_along_is_asked_for_by_itself(people, cast, carry) -> None:
    change = restarting(people, cast, carry)
    personal_keys.remove(cast.mo.user, cast.mo.user.ssh_keys.get().pk)
    fake(people).script.apply = [Rejected("slurmctld died of it.")]
    change = carry(change)
    assert (change.status, change.takes_along) == (S.FAILED, True)
    follow.follow_up()
    own = people.changes.latest("number")
    assert own != change and own.by is None and carry(own).status == S.COMMITTED
    assert keys_there(people)["mo"] == []
    follow.follow_up()
    assert people.changes.latest("number") == own


def test_a_change_that_asks_takes_them_along_and_asks_on(people, cast, carry) -> None:
    change = changes.propose(
        people, tiny_spec(nodes=1).with_logins(people.spec.logins), base=4, by=cast.ada, force=True
    )
    people.jobs.create(
        key="8", number=8, job_id="8", submit_at=change.at, user="mo", state="RUNNING", nodes="slinky-1"
    )
    change = carry(change)
    assert change.status == S.ASKING
    question = change.waits_for
    personal_keys.remove(cast.mo.user, cast.mo.user.ssh_keys.get().pk)
    change = carry(change)
    assert (change.status, change.waits_for) == (S.ASKING, question)
    assert keys_there(people)["mo"] == [] and not fake(people).world.drained
    answers.confirm(change, by=cast.ada)
    change = carry(change)
    assert change.status == S.COMMITTED, said(change)
    assert keys_there(people)["mo"] == [] and "slinky-1" not in fresh(people).spec.node_names


def test_two_that_come_one_after_the_other_are_both_taken_along(people, cast, carry) -> None:
    change = shrinking(people, cast, carry)
    personal_keys.remove(cast.mo.user, cast.mo.user.ssh_keys.get().pk)
    personal_keys.add(cast.ben.user, OTHER_ED25519)
    follow.follow_all()
    change = carry(change)
    follow.follow_all()
    change = carry(change)
    assert keys_there(people) == {"mo": [], "ben": [OTHER_ED25519]} and change.rests


def test_what_is_about_more_than_people_waits_as_before(people, cast, carry) -> None:
    change = shrinking(people, cast, carry)
    at = fresh(people)
    for spec in (at.spec.with_slurm_conf("# x"), at.spec.with_slurm_conf("# x").with_logins(at.spec.logins)):
        with pytest.raises(Busy, match=f"Change {change.number} "):
            changes.propose(at, spec, base=at.revision.number, by=cast.ada)


def test_a_change_that_does_not_wait_is_waited_for(people, cast, carry) -> None:
    changes.propose(people, people.spec.with_slurm_conf("# x"), base=people.revision.number, by=cast.ada)
    at = door(people, cast.ada)
    with pytest.raises(Busy):
        logins.remove(at, "mo", jobs="run", home="keep", base=at.cluster.revision.number)
