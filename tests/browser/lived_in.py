"""The seed's busy cluster, lived in: login users, a script that has drained a node, another node that is drained and
empty, a change that asks again, and what a person keeps in their profile.
"""

from dataclasses import replace
from datetime import timedelta

from allauth.mfa.models import Authenticator
from django.utils import timezone

from clusters import personal_keys
from clusters.identities import identify
from clusters.models import Change, Cluster, Grant, Node
from clusters.spec import CPU_GROUP, ClusterSpec, LifeScripts, Logins, LoginUser, to_json
from console import factors
from console.models import Invitation, Membership
from console.tokens import make_token
from tests.clusters.keys import ED25519
from tests.seed import Seed

PROLOG = "#!/bin/bash\nexit 1\n"


def live_in(made: Seed) -> Cluster:
    """Mo and Lin have logins, their homes on the volume at /home; Ada has none."""
    users = [identify(made.team, made.users[name]) for name in ("lin", "mo")]
    logins = Logins(
        on=True,
        homes="/home",
        account="research",
        users=tuple(LoginUser(one.name, one.number) for one in users),
    )
    cluster = made.cluster
    respec(cluster, replace(cluster.spec, logins=logins, scripts=LifeScripts(worker_prolog=PROLOG)))
    nodes = Node.objects.filter(cluster=cluster)
    nodes.filter(name="slinky-3").update(reason="Prolog error", reason_by="slurm")
    nodes.filter(name="cpu-workers-0").update(
        state="drained", health="draining", reason="to try a script (by ada)", reason_by="root"
    )
    return cluster


def without_cpu_workers(cluster: Cluster) -> None:
    """As a cluster that was made with GPU workers alone."""
    spec = cluster.spec
    respec(cluster, replace(spec, groups=tuple(group for group in spec.groups if group.name != CPU_GROUP)))
    Node.objects.filter(cluster=cluster, group=CPU_GROUP).delete()


def ask_again(cluster: Cluster) -> Change:
    """A change that would cost more by now than was promised."""
    return Change.objects.create(
        cluster=cluster,
        number=4,
        kind="edit",
        status="asking",
        summary="slurm.conf: 1 line",
        waits_for="1 more job would end: 4133 notebook.",
        base=cluster.revision,
        revision=cluster.revisions.get(number=3),
    )


def wait_for_jobs(change: Change) -> None:
    """A change under way that rests because of a job, and can be told not to."""
    rests = {"status": "applying", "time_left": timedelta(60), "waits_for": "Waits for 1 job on slinky-0."}
    Change.objects.filter(pk=change.pk).update(**rests)


def keep_keys_and_tokens(made: Seed) -> None:
    ada = made.users["ada"]
    personal_keys.add(ada, ED25519)
    make_token(ada, "nightly training")


def keep_factors(made: Seed) -> None:
    """Ada has a passkey and recovery codes; no authenticator app yet."""
    ada = made.users["ada"]
    key = {"name": "work laptop", "credential": {"id": "none"}}
    Authenticator.objects.create(user=ada, type=factors.PASSKEY, data=key)
    factors.first_codes(ada)


def trust_people(made: Seed) -> None:
    """Mo has a role on the busy cluster alone, and an invitation into the team is open."""
    mo = Membership.objects.get(team=made.team, user=made.users["mo"])
    Grant.objects.create(cluster=made.cluster, membership=mo, role="operator", by=made.users["ada"])
    ends = timezone.now() + timedelta(days=1)
    Invitation.objects.create(
        team=made.team, by=made.users["ada"], role="member", digest="0" * 64, expires_at=ends
    )


def respec(cluster: Cluster, spec: ClusterSpec) -> None:
    assert cluster.revision
    cluster.revision.spec = to_json(spec)
    cluster.revision.save(update_fields=["spec"])
