"""Checking a region, and what came of it. The one writer of `Region.readiness`; called by the task alone."""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from clusters.finding import Finding, State, as_stored, worst
from clusters.models import Region
from console.errors import ConsoleError

# How long a check may take before the page stops saying that one is under way, and how old a result may be.
CHECK_WITHIN = timedelta(seconds=90)
FRESH_FOR = timedelta(minutes=15)


def check(region: Region) -> None:
    """Look at the region and keep what was found, unless somebody began later and was faster. Blocks."""
    began = timezone.now()
    found = _look(region)
    older = Q(readiness_at=None) | Q(readiness_at__lt=began)
    Region.objects.filter(older, pk=region.pk).update(readiness=as_stored(found), readiness_at=timezone.now())


def is_being_checked(region: Region) -> bool:
    """Whether a check was asked for that has not ended yet; one that takes too long no longer counts."""
    return _is_awaited(region) and timezone.now() - region.readiness_asked_at < CHECK_WITHIN  # type: ignore[operator]


def is_overdue(region: Region) -> bool:
    """Whether nobody has looked for so long that the worker seems to be away."""
    if is_being_checked(region):
        return False
    return _is_awaited(region) or (
        region.readiness_at is not None and timezone.now() - region.readiness_at > FRESH_FOR
    )


def trouble(region: Region) -> Finding | None:
    """What most keeps clusters from being made here, as last seen; None when nothing was found in the way."""
    return worst(region.findings)


def _is_awaited(region: Region) -> bool:
    asked, done = region.readiness_asked_at, region.readiness_at
    return asked is not None and (done is None or done < asked)


def _look(region: Region) -> tuple[Finding, ...]:
    try:
        return region.platform.readiness()
    except ConsoleError as error:
        return (Finding("platform", "Platform", State.BAD, error.message, error.hint),)
