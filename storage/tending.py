"""Bringing volumes about and looking at them: the one writer of what was seen of them. Called by tasks alone.

Idempotent, and may run twice at the same time: platforms are asked for a state, not for a step, and rows are written
by fields that nobody else writes.
"""

import logging
from collections.abc import Mapping, Sequence

from django.utils import timezone

from clusters.models import Region
from clusters.platform import RegionRef
from console.errors import ConsoleError, Rejected, Unavailable
from storage.attachments import attachments_of
from storage.kinds import Phase
from storage.models import Volume
from storage.store import VolumeSeen, store_of

log = logging.getLogger(__name__)


def tend(volume: Volume) -> None:
    """Make it what it should be, then look. Blocks."""
    if volume.deleted_at is not None:
        _remove(volume)
        return
    try:
        # One that is lost is only looked at: made anew it would be empty, and nobody told that its files are gone.
        if volume.phase != Phase.LOST:
            volume.store.keep(volume.ref)
            _undo_if_deleted(volume)
        seen = volume.store.look([volume.ref]).get(volume.key)
    except Unavailable as error:
        log.warning("volume-waits key=%s why=%s", volume.key, error.message)
        _note(volume, phase_why=error.message)
        return
    except ConsoleError as error:
        _note(volume, phase=Phase.FAILED, phase_why=f"{error.message} {error.hint}".strip())
        return
    if seen:
        record([volume], {volume.key: seen})


def look(region: Region) -> list[Volume]:
    """Look at all volumes of a region; those that want tending. Blocks."""
    volumes = list(region.volumes.select_related("team", "region"))
    if not volumes:
        return []
    try:
        store = store_of(region.provisioner, RegionRef(region.slug, region.config))
        seen = store.look([volume.ref for volume in volumes])
    except ConsoleError as error:
        log.warning("volumes-unseen region=%s why=%s", region.slug, error.message)
        return []
    record(volumes, seen)
    return [volume for volume in volumes if _wants_tending(volume)]


def record(volumes: Sequence[Volume], seen: Mapping[str, VolumeSeen]) -> None:
    """Write what was seen. What is not there yet is no loss while nobody has made it."""
    now = timezone.now()
    for volume in volumes:
        if (found := seen.get(volume.key)) is None:
            continue
        was = Phase(volume.phase)
        is_made = was in (Phase.READY, Phase.LOST)
        if found.phase is Phase.LOST and not is_made:
            continue
        _note(
            volume, phase=found.phase, phase_why=found.why, seen_gib=found.size_gib, used_bytes=found.used_bytes,
            seen_at=now,
        )  # fmt: skip


def note_orphans() -> None:
    """Write down since when no cluster has mounted each volume."""
    volumes = list(Volume.objects.select_related("team"))
    held: set[str] = set()
    for team in {volume.team for volume in volumes}:
        held |= attachments_of(team).keys()
    for volume in volumes:
        if volume.key in held and volume.orphan_since is not None:
            _note(volume, orphan_since=None)
        elif volume.key not in held and volume.orphan_since is None:
            _note(volume, orphan_since=timezone.now())


def _wants_tending(volume: Volume) -> bool:
    is_small = volume.seen_gib is not None and volume.seen_gib < volume.size_gib
    is_unmade = volume.phase in (Phase.UNSEEN, Phase.FAILED)
    return volume.deleted_at is not None or is_unmade or is_small


def _undo_if_deleted(volume: Volume) -> None:
    """Somebody deleted it while it was being made, and another worker may have removed it before it was there."""
    if not Volume.objects.filter(pk=volume.pk, deleted_at=None).exists():
        volume.store.remove(volume.ref)


def _remove(volume: Volume) -> None:
    """The row goes last: a kill before leaves it to be removed again."""
    try:
        volume.store.remove(volume.ref)
    except Unavailable as error:
        _note(volume, phase_why=error.message)
        return
    except Rejected as error:
        _note(volume, phase_why=f"{error.message} {error.hint}".strip())
        return
    Volume.objects.filter(pk=volume.pk, deleted_at__isnull=False).delete()


def _note(volume: Volume, **fields: object) -> None:
    """Write these fields where they differ, and nothing else of the row."""
    if changed := {name: value for name, value in fields.items() if getattr(volume, name) != value}:
        Volume.objects.filter(pk=volume.pk).update(**changed)
        for name, value in changed.items():
            setattr(volume, name, value)
