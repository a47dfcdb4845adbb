"""The one row lock of this app: a cluster's own, for as long as a transaction lasts."""

from clusters.models import Cluster


def locked(pk: int) -> Cluster:
    """The cluster as it is now, with team, region and revision. In a transaction."""
    rows = Cluster.objects.select_for_update(of=("self",)).select_related("team", "region", "revision")
    return rows.get(pk=pk)
