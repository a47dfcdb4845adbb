"""What open pages get to see of a change while it moves: the same partials that the pages include."""

from clusters.models import Change, Cluster
from console import live


def show_change(change: Change) -> None:
    """Push the change's status, its log and what it waits for to the cluster's pages, on commit."""
    live.publish(
        live.cluster_topic(change.cluster.key),
        [
            live.fragment("clusters/_change_status.html", f"change-status-{change.pk}", change=change),
            live.fragment("clusters/_change_lines.html", f"change-lines-{change.pk}", change=change),
            live.fragment("clusters/_change_wait.html", f"change-wait-{change.pk}", change=change),
        ],
    )


def show_cluster(cluster: Cluster) -> None:
    """Push the cluster's own strip, on commit."""
    live.publish(live.cluster_topic(cluster.key), [overview(cluster)])


def overview(cluster: Cluster) -> live.Fragment:
    return live.fragment("clusters/_overview.html", f"overview-{cluster.key}", cluster=cluster)
