"""Login users as changes of a cluster: numbers that stay, people who come and go, keys that follow their profile."""

from dataclasses import replace

import pytest

from clusters import changes, follow, identities, logins, personal_keys
from clusters.access import Door, cluster_for
from clusters.acts import Edit
from clusters.identities import NoLogin, identify, login_of, slurm_users_of
from clusters.impacts import promise
from clusters.logins import Wish
from clusters.models import Change, Cluster, Identity
from clusters.order import Order, spec_for
from clusters.run import run
from clusters.spec import Logins, to_json
from console.errors import ConsoleError, Rejected
from console.models import Event, Membership, Team
from console.roles import Action, Role
from tests.cast import Cast, person, the_cast, the_region, tiny_cluster
from tests.clusters.keys import ED25519, OTHER_ED25519, rsa

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    """With nobody in it yet."""
    made = tiny_cluster(cast.team)
    switched(made, Logins(on=True, account="research"))
    return made


def switched(cluster: Cluster, wanted: Logins) -> None:
    """As if a change had been committed."""
    spec = cluster.spec.with_logins(wanted)
    number = cluster.revisions.count() + 1
    cluster.revision = cluster.revisions.create(number=number, spec=to_json(spec))
    cluster.save()


def door(cluster: Cluster, member: Membership) -> Door:
    return cluster_for(member.user, cluster.team.slug, cluster.slug, Action.VIEW)


def commit(change: Change) -> Cluster:
    """Carry the change out on the fake platform."""
    run(change.pk)
    change.refresh_from_db()
    assert change.status == "committed", (change.why, change.problems)
    return Cluster.objects.select_related("team", "region", "revision").get(pk=change.cluster_id)


def added(cluster: Cluster, cast: Cast, account: str, name: str = "", **wish: object) -> Cluster:
    at = door(cluster, cast.ada)
    return commit(logins.add(at, account, name, Wish(**wish), base=at.cluster.revision.number))  # type: ignore[arg-type,union-attr]


def removed(cluster: Cluster, cast: Cast, name: str) -> Cluster:
    at = door(cluster, cast.ada)
    return commit(logins.remove(at, name, jobs="run", home="keep", base=at.cluster.revision.number))  # type: ignore[union-attr]


def test_a_login_is_added_with_a_number_that_stays(cluster: Cluster, cast: Cast) -> None:
    found = added(cluster, cast, "mo", groups=("vision", "lab"), sudo=True).spec.logins
    (mo,) = found.users
    assert (mo.name, mo.groups, mo.sudo) == ("mo", ("lab", "vision"), True)
    assert {group.name for group in found.groups} == {"lab", "vision"}
    again = added(removed(cluster, cast, "mo"), cast, "mo").spec.logins
    assert again.users[0].uid == mo.uid
    assert again.groups == ()


def test_numbers_are_the_same_on_all_clusters_of_the_team_and_nobody_elses(
    cluster: Cluster, cast: Cast
) -> None:
    first = identify(cast.team, cast.mo.user)
    other = Team.objects.create(slug="vision", name="Vision")
    assert identify(cast.team, cast.mo.user) == first
    assert identify(other, cast.mo.user).number not in {first.number}
    newest = identify(cast.team, cast.ben.user).number
    Identity.objects.filter(number=newest).update(team=None, user=None)
    assert identify(cast.team, cast.cy.user).number == newest + 1


def test_a_name_is_not_given_to_another_person(cluster: Cluster, cast: Cast) -> None:
    removed(added(cluster, cast, "mo", "alex"), cast, "alex")
    at = door(cluster, cast.ada)
    with pytest.raises(Rejected) as refused:
        logins.add(at, "ben", "alex", Wish(), base=at.cluster.revision.number)  # type: ignore[union-attr]
    assert refused.value.problems[0].path == "name"
    assert "mo" in refused.value.problems[0].message
    with pytest.raises(Rejected):
        logins.add(at, "mo", "maurice", Wish(), base=at.cluster.revision.number)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["root", "slurm", "Mo", "a b"])
def test_a_bad_name_is_refused_at_its_field(cluster: Cluster, cast: Cast, name: str) -> None:
    at = door(cluster, cast.ada)
    with pytest.raises(Rejected) as refused:
        logins.add(at, "mo", name, Wish(), base=at.cluster.revision.number)  # type: ignore[union-attr]
    assert [problem.path for problem in refused.value.problems] == ["name"]
    assert not Identity.objects.exists()


def test_only_who_may_open_a_terminal_can_have_a_login(cluster: Cluster, cast: Cast) -> None:
    at = door(cluster, cast.ada)
    names = {one.member.user.username for one in logins.candidates(at)}
    assert names == {"ada", "ben", "mo"}
    for name in ("cy", "dee", "nobody"):
        with pytest.raises(Rejected):
            logins.add(at, name, "", Wish(), base=at.cluster.revision.number)  # type: ignore[union-attr]


def test_a_member_cannot_change_logins(cluster: Cluster, cast: Cast) -> None:
    with pytest.raises(ConsoleError) as refused:
        logins.add(door(cluster, cast.mo), "mo", "", Wish(), base=2)
    assert refused.value.status == 403
    assert not Identity.objects.exists()


def test_a_new_cluster_has_a_login_for_everybody_who_may_open_terminals(cast: Cast) -> None:
    region = the_region()
    Membership.objects.create(team=cast.team, user=person("Li.Na"), role=Role.ADMIN)
    personal_keys.add(cast.mo.user, ED25519)
    _, spec = spec_for(Order("fresh", region.slug, "slurm-24-11", gpu_plan="gpu-8x", gpu_nodes=1))
    made = changes.create_cluster(cast.team, region, spec, by=cast.ada).spec.logins
    assert made.on
    assert made.account == "research"
    assert {user.name: user.sudo for user in made.users} == {
        "ada": True,
        "ben": False,
        "li-na": True,
        "mo": False,
    }
    assert next(user for user in made.users if user.name == "mo").keys == (ED25519,)


def test_where_the_platform_has_none_they_are_off_and_cannot_be_switched_on(cast: Cast) -> None:
    region = the_region(no_logins="There is no directory.")
    order = Order("fresh", region.slug, "slurm-24-11", gpu_plan="gpu-8x", gpu_nodes=1)
    assert not spec_for(order)[1].logins.on
    with pytest.raises(Rejected) as refused:
        changes.create_cluster(cast.team, region, spec_for(replace(order, login_users=True))[1], by=cast.ada)
    (problem,) = refused.value.problems
    assert problem.path == "logins.on"
    assert "There is no directory." in problem.message


def test_who_one_is_on_the_login_node(cluster: Cluster, cast: Cast) -> None:
    found = added(cluster, cast, "mo", "maurice")
    assert login_of(found, cast.mo.user) == "maurice"
    assert slurm_users_of(cast.team.pk, cast.mo.user.pk) == {"maurice"}
    with pytest.raises(NoLogin):
        login_of(found, cast.ben.user)
    switched(found, replace(found.spec.logins, on=False))
    assert login_of(found, cast.mo.user) == login_of(found, cast.ben.user) == ""


def test_keys_follow_the_profile_at_once(cluster: Cluster, cast: Cast) -> None:
    added(cluster, cast, "mo")
    made = personal_keys.add(cast.mo.user, ED25519)
    change = cluster.changes.latest("number")
    assert (change.by, change.summary) == (None, "Login users: add key ada@laptop of mo")
    assert commit(change).spec.logins.users[0].keys == (ED25519,)
    personal_keys.remove(cast.mo.user, made.pk)
    assert commit(cluster.changes.latest("number")).spec.logins.users[0].keys == ()
    assert [event.verb for event in Event.objects.filter(verb__startswith="key.").order_by("pk")] == [
        "key.add",
        "key.remove",
    ]


def test_a_key_waits_for_another_change_and_follows_then(cluster: Cluster, cast: Cast) -> None:
    added(cluster, cast, "mo")
    at = door(cluster, cast.ada)
    busy = changes.propose(at.cluster, at.cluster.spec.with_slurm_conf("MaxJobCount=5"), base=3, by=cast.ada)
    personal_keys.add(cast.mo.user, ED25519)
    assert cluster.changes.latest("number") == busy
    commit(busy)
    follow.follow_all()
    assert commit(cluster.changes.latest("number")).spec.logins.users[0].keys == (ED25519,)
    follow.follow_all()
    assert cluster.changes.count() == 3


def test_who_loses_the_role_loses_the_login_and_keeps_the_home(cluster: Cluster, cast: Cast) -> None:
    added(added(cluster, cast, "mo"), cast, "ben")
    cast.mo.delete()
    follow.follow_all()
    found = commit(cluster.changes.latest("number")).spec.logins
    assert [user.name for user in found.users] == ["ben"]
    assert [(left.name, left.jobs, left.home) for left in found.leavers] == [("mo", "run", "keep")]
    cast.ben.role = Role.VIEWER
    cast.ben.save()
    follow.follow_all()
    assert commit(cluster.changes.latest("number")).spec.logins.users == ()


def test_a_closed_account_loses_the_login(cluster: Cluster, cast: Cast) -> None:
    added(cluster, cast, "mo")
    cast.mo.user.is_active = False
    cast.mo.user.save()
    follow.follow_all()
    assert commit(cluster.changes.latest("number")).spec.logins.users == ()


def test_going_back_brings_no_login_and_no_key_back(cluster: Cluster, cast: Cast) -> None:
    personal_keys.add(cast.mo.user, ED25519)
    found = added(cluster, cast, "mo")
    old = found.revision.number  # type: ignore[union-attr]
    at = door(cluster, cast.ada)
    commit(
        changes.propose(at.cluster, at.cluster.spec.with_slurm_conf("MaxJobCount=5"), base=old, by=cast.ada)
    )
    found = removed(cluster, cast, "mo")
    back = changes.rollback_to(found, old, base=found.revision.number, by=cast.ada)  # type: ignore[union-attr]
    spec = commit(back).spec
    assert (spec.slurm_conf, spec.logins.users) == ("", ())


@pytest.mark.parametrize(
    "line", [rsa(1024), "ssh-dss AAAA x", "-----BEGIN OPENSSH PRIVATE KEY-----", "hello"]
)
def test_a_weak_or_private_key_is_refused_and_not_kept(cast: Cast, line: str) -> None:
    with pytest.raises(Rejected) as refused:
        personal_keys.add(cast.mo.user, line)
    assert [problem.path for problem in refused.value.problems] == ["line"]
    assert not cast.mo.user.ssh_keys.exists()
    assert line not in str(Event.objects.get(verb="key.add").detail)


def test_a_key_is_one_persons(cast: Cast) -> None:
    kept = personal_keys.add(cast.mo.user, ED25519)
    assert (kept.type, kept.bits, kept.comment) == ("ssh-ed25519", 256, "ada@laptop")
    for user in (cast.mo.user, cast.ben.user):
        with pytest.raises(Rejected):
            personal_keys.add(user, ED25519.replace("ada@laptop", "again"))
    personal_keys.add(cast.ben.user, OTHER_ED25519)


def test_a_removal_says_whose_sessions_and_jobs_end(cluster: Cluster, cast: Cast) -> None:
    found = added(added(cluster, cast, "mo"), cast, "ben")
    for number, user, nodes in ((7, "mo", "slinky-0"), (8, "mo", ""), (9, "ben", "slinky-1")):
        state = "RUNNING" if nodes else "PENDING"
        found.jobs.create(
            key=str(number), number=number, job_id=str(number), submit_at=found.created_at, user=user, state=state,
            nodes=nodes,
        )  # fmt: skip
    mo = logins.user_of(found, "mo")
    runs_on = promise(found, Edit(found.spec, logins.removed(found.spec, mo, jobs="run", home="keep")))
    assert (runs_on.signed_out, runs_on.jobs, runs_on.homes_deleted) == (("mo",), (), ())
    ends = promise(found, Edit(found.spec, logins.removed(found.spec, mo, jobs="cancel", home="delete")))
    assert [(job.job_id, job.fate.value) for job in ends.jobs] == [("7", "ends"), ("8", "dropped")]
    assert (ends.running, ends.homes_deleted) == (1, ("/home/mo",))


def test_too_many_numbers_are_an_end_in_words(cast: Cast, settings: object) -> None:
    settings.LOGIN_NUMBERS_FROM = 59_999  # type: ignore[attr-defined]
    identities.identify(cast.team, cast.mo.user)
    with pytest.raises(ConsoleError) as refused:
        identities.identify(cast.team, cast.ben.user)
    assert "No number" in refused.value.message
