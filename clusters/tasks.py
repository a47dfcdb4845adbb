"""What the worker is asked to do. Every task may run twice, at the same time too: the lease decides."""

from celery import shared_task
from django.utils import timezone

from clusters import leases
from clusters.run import run


@shared_task
def apply_change(change_id: int) -> None:
    run(change_id)


@shared_task
def resume_changes() -> None:
    """Every few seconds: enqueue live changes that nobody works on."""
    for change_id in leases.free_at(timezone.now()).values_list("pk", flat=True):
        apply_change.delay(change_id)
