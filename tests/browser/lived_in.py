"""The seed's busy cluster, lived in: login users, a script that has drained a node, another node that is drained and
empty, a change that asks again, and what a person keeps in their profile.
"""

from dataclasses import replace

from clusters import personal_keys
from clusters.identities import identify
from clusters.models import Change, Cluster, Node
from clusters.spec import CPU_GROUP, ClusterSpec, LifeScripts, Logins, LoginUser, to_json
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


def keep_keys_and_tokens(made: Seed) -> None:
    ada = made.users["ada"]
    personal_keys.add(ada, ED25519)
    make_token(ada, "nightly training")


def respec(cluster: Cluster, spec: ClusterSpec) -> None:
    assert cluster.revision
    cluster.revision.spec = to_json(spec)
    cluster.revision.save(update_fields=["spec"])
