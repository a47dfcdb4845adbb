"""What the worker is asked to do. Every task may run twice, at the same time too: the lease decides."""

from contextlib import suppress

from celery import shared_task
from django.utils import timezone

from clusters import leases, readiness, schedule
from clusters.models import Cluster, Region
from clusters.run import run
from console.errors import ConsoleError


@shared_task
def apply_change(change_id: int) -> None:
    run(change_id)


@shared_task
def resume_changes() -> None:
    """Every few seconds: start changes whose time has come, and enqueue live ones that nobody works on."""
    schedule.start_due(timezone.now())
    for cluster_id in schedule.with_holds():
        hold_nodes.delay(cluster_id)
    for change_id in leases.free_at(timezone.now()).values_list("pk", flat=True):
        apply_change.delay(change_id)


@shared_task
def hold_nodes(cluster_id: int) -> None:
    """Keep new jobs off what a change waits for, and give back what none waits for any more."""
    with suppress(ConsoleError):  # asked again in some seconds
        schedule.hold(Cluster.objects.get(pk=cluster_id))


@shared_task
def check_region(region_id: int) -> None:
    if region := Region.objects.filter(pk=region_id).first():
        readiness.check(region)


@shared_task
def check_regions() -> None:
    """Every few minutes: have each region looked at again."""
    for region_id in Region.objects.values_list("pk", flat=True):
        check_region.delay(region_id)
