"""What the worker is asked to do for Slurm. Every task may run twice."""

from celery import shared_task

from clusters import follow
from clusters.lifecycle import Status
from clusters.models import Cluster
from console.errors import Unavailable
from slurm import recordings
from slurm.history import settle


@shared_task(autoretry_for=(Unavailable,), max_retries=5, default_retry_delay=30)
def settle_jobs(cluster_id: int) -> None:
    """Ask accounting how the jobs ended that left the queue unseen, and again if it does not answer.

    Once the cluster has ended nobody answers any more.
    """
    there = Cluster.objects.exclude(status__in=(Status.TERMINATED, Status.DELETED))
    if cluster := there.select_related("team", "region").filter(pk=cluster_id).first():
        settle(cluster)


@shared_task
def drop_recordings() -> None:
    """Delete recordings of terminals that were kept as long as their team wants, and see that the others are sealed."""
    recordings.settle_lost()
    recordings.seal_earlier()
    recordings.drop_old()


@shared_task
def follow_people() -> None:
    """Every few seconds: bring people's keys and the ends of their roles to the login nodes."""
    follow.follow_up()
    follow.follow_all()
