"""What the worker is asked to do about volumes. Every task may run twice, at the same time too."""

from celery import shared_task

from clusters.models import Region
from storage import tending
from storage.models import Volume


@shared_task
def tend_volume(volume_id: int) -> None:
    if volume := Volume.objects.select_related("team", "region").filter(pk=volume_id).first():
        tending.tend(volume)


@shared_task
def look_at_volumes(region_id: int) -> None:
    if region := Region.objects.filter(pk=region_id).first():
        for volume in tending.look(region):
            tend_volume.delay(volume.pk)


@shared_task
def watch_volumes() -> None:
    """Every half minute: have each region's volumes looked at, and see which are mounted nowhere."""
    for region_id in Region.objects.filter(volumes__isnull=False).distinct().values_list("pk", flat=True):
        look_at_volumes.delay(region_id)
    tending.note_orphans()
