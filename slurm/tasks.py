"""What the worker is asked to do for Slurm. Every task may run twice."""

from celery import shared_task

from clusters.models import Cluster
from console.errors import Unavailable
from slurm.history import settle


@shared_task(autoretry_for=(Unavailable,), max_retries=5, default_retry_delay=30)
def settle_jobs(cluster_id: int) -> None:
    """Ask accounting how the jobs ended that left the queue unseen, and again if it does not answer."""
    settle(Cluster.objects.select_related("team", "region").get(pk=cluster_id))
