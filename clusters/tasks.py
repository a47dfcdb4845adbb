"""What the worker is asked to do. Every task may run twice, at the same time too: the lease decides."""

from celery import shared_task
from django.utils import timezone

from clusters import leases, readiness
from clusters.models import Region
from clusters.run import run


@shared_task
def apply_change(change_id: int) -> None:
    run(change_id)


@shared_task
def resume_changes() -> None:
    """Every few seconds: enqueue live changes that nobody works on."""
    for change_id in leases.free_at(timezone.now()).values_list("pk", flat=True):
        apply_change.delay(change_id)


@shared_task
def check_region(region_id: int) -> None:
    if region := Region.objects.filter(pk=region_id).first():
        readiness.check(region)


@shared_task
def check_regions() -> None:
    """Every few minutes: have each region looked at again."""
    for region_id in Region.objects.values_list("pk", flat=True):
        check_region.delay(region_id)
