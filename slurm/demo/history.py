"""The demo's past: one change that its controller refused, and that was rolled back while the jobs went on.

So that a newcomer sees what becomes of a mistake. It is a true one: the name of a plugin, of which the catalogue can
only warn, since anybody may add one; the controller finds no such plugin. A shadow would have found that out before
anything was touched, so it is carried out here without one. Used by `manage.py demo` alone.
"""

from django.conf import settings
from django.db import transaction

from clusters import leases
from clusters.changes import propose
from clusters.machine import Kind
from clusters.models import Cluster
from clusters.run import SYSTEM, carry
from console.models import Membership

# Its name is require_timelimit.
MISTAKE = "# No job without a time limit\nJobSubmitPlugins=require_time_limit\n"


def make_history(cluster: Cluster, by: Membership) -> None:
    """Blocks for some seconds. Does nothing on a cluster that was changed already."""
    if cluster.revision is None or cluster.changes.exclude(kind=Kind.CREATE).exists():
        return
    spec = cluster.revision.parsed
    mistaken = spec.with_slurm_conf(spec.slurm_conf + MISTAKE)
    with transaction.atomic():
        change = propose(cluster, mistaken, base=cluster.revision.number, by=by)
        # Before a worker sees it, which would have a shadow read it.
        lease = leases.take(change.pk, SYSTEM)
    if lease:
        settings.SHADOW_CHECK = False
        carry(lease)
