"""Whose login a terminal, a certificate and a job are: the person's own, and none where they have none."""

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.serialization import SSHCertificate, load_ssh_public_identity

from clusters.access import Door
from clusters.identities import NoLogin, identify
from clusters.models import Cluster
from clusters.provisioner import Completed
from clusters.spec import Logins, LoginUser, to_json
from console.errors import Conflict
from slurm import connecting, operations
from slurm.terminal.opening import order, why_not_as
from slurm.terminal.rights import _why_not
from slurm.terminal.session import Owner
from tests.cast import Cast, fake
from tests.clusters.keys import ED25519
from tests.fakes import FakeProvisioner
from tests.slurm.scripted import Scripted

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(cast: Cast, cluster: Cluster) -> Cluster:
    """Mo has a login there, Ada has none."""
    mo = LoginUser("maurice", identify(cast.team, cast.mo.user, "maurice").number)
    return now(cluster, Logins(on=True, users=(mo,)))


def now(cluster: Cluster, logins: Logins) -> Cluster:
    """As if a change had been committed."""
    spec = to_json(cluster.spec.with_logins(logins))
    cluster.revision = cluster.revisions.create(number=cluster.revisions.count() + 1, spec=spec)
    cluster.save()
    return cluster


def principals(certificate: object) -> list[bytes]:
    found = load_ssh_public_identity(str(certificate).encode())
    assert isinstance(found, SSHCertificate)
    return list(found.valid_principals)


def owner(cast: Cast, cluster: Cluster, login: str) -> Owner:
    return Owner(cast.mo.user.pk, "mo", cast.team.pk, cluster.key, cluster.slug, "", login)


def test_a_terminal_signs_in_as_the_persons_login_alone(cast: Cast, people: Cluster) -> None:
    asked = order(Door(people, cast.mo), "10.0.0.7")
    assert (asked["target"]["user"], asked["owner"]["login"]) == ("maurice", "maurice")
    assert principals(asked["target"]["certificate"]) == [b"maurice"]


def test_without_login_users_everybody_is_whom_the_platform_has(cast: Cast, cluster: Cluster) -> None:
    asked = order(Door(cluster, cast.mo), "")
    assert (asked["target"]["user"], asked["owner"]["login"]) == ("root", "")
    assert principals(asked["target"]["certificate"]) == [b"root"]


def test_a_certificate_over_ones_own_key_is_for_ones_own_login(cast: Cast, people: Cluster) -> None:
    made = connecting.sign_key(Door(people, cast.mo), ED25519)
    assert made.endpoint.user == "maurice"
    assert principals(made.signed.certificate) == [b"maurice"]


def test_who_has_no_login_gets_no_terminal_no_certificate_and_no_job(cast: Cast, people: Cluster) -> None:
    door = Door(people, cast.ada)
    with pytest.raises(NoLogin):
        order(door, "")
    with pytest.raises(NoLogin):
        connecting.sign_key(door, ED25519)
    with pytest.raises(Conflict):
        operations.submit(door, "#!/bin/sh\n")


def test_a_job_is_submitted_as_the_persons_login(
    cast: Cast, people: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def executor(self: FakeProvisioner, login: str = "") -> Scripted:
        asked.append(login)
        return Scripted({"sbatch": b"41\n", "scancel": Completed(0, b"", "")})

    monkeypatch.setattr(FakeProvisioner, "executor", executor)
    assert operations.submit(Door(people, cast.mo), "#!/bin/sh\n") == 41
    assert asked == ["maurice"]


def test_jobs_of_ones_login_are_ones_own(cast: Cast, people: Cluster) -> None:
    people.jobs.create(
        key="7", number=7, job_id="7", submit_at=people.created_at, user="maurice", state="RUNNING"
    )
    assert operations.is_own(Door(people, cast.mo), ["7"])
    assert not operations.is_own(Door(people, cast.ben), ["7"])


def test_a_terminal_ends_with_its_login(cast: Cast, people: Cluster) -> None:
    assert _why_not(owner(cast, people, "maurice")) == ""
    now(people, replace(people.spec.logins, users=()))
    assert "no login" in _why_not(owner(cast, people, "maurice"))


@pytest.mark.parametrize(("on", "login"), [(True, ""), (False, "maurice")])
def test_a_terminal_ends_when_it_is_decided_anew_who_signs_in(
    cast: Cast, people: Cluster, on: bool, login: str
) -> None:
    now(people, replace(people.spec.logins, on=on))
    assert "was changed" in why_not_as(Door(people, cast.mo), login)
    assert why_not_as(Door(people, cast.mo), "" if not on else "maurice") == ""
    assert fake(people).login().user == "root"
