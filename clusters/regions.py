"""What platform staff does to regions: register, change, rotate credentials, disable, have them checked.

A region's row, its sealed secrets and the audit event are written in one transaction. No secret is ever in an event.
"""

from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.utils import timezone

from clusters.models import Region
from clusters.tasks import check_region
from console import events, secrets
from console.errors import Problem, Rejected
from console.models import Secret, User


def secrets_owner(slug: str) -> str:
    return f"region:{slug}"


def kept_secrets(region: Region) -> frozenset[str]:
    """The kinds of secret that are sealed for it."""
    return frozenset(Secret.objects.filter(owner=secrets_owner(region.slug)).values_list("kind", flat=True))


def register(
    kind: str,
    *,
    slug: str,
    name: str,
    config: Mapping[str, object],
    sealed: Mapping[str, bytes],
    by: User,
) -> Region:
    """Make the region, whether or not it can be reached: its readiness says so. Raises Rejected for a slug in use."""
    try:
        with transaction.atomic():
            region = Region.objects.create(slug=slug, name=name, provisioner=kind, config=dict(config))
            _seal(region, sealed)
            events.record("region.register", by=by, target=slug, detail={"provisioner": kind})
            ask_for_check(region)
    except IntegrityError as error:
        problem = Problem("slug", f"There is a region {slug} already.", "Choose another short name.")
        raise Rejected(f"The region {slug} was not registered.", (problem,)) from error
    return region


def change_settings(region: Region, *, name: str, config: Mapping[str, object], by: User) -> None:
    """Keys of the document that are not in `config` stay as they are."""
    changed = sorted(key for key, value in config.items() if region.config.get(key) != value)
    with transaction.atomic():
        region.name, region.config = name, {**region.config, **config}
        region.save(update_fields=["name", "config"])
        events.record("region.change", by=by, target=region.slug, detail={"summary": ", ".join(changed)})
        ask_for_check(region)


def replace_credentials(region: Region, sealed: Mapping[str, bytes], *, by: User) -> None:
    """Seal new ones in the place of the old; kinds that are not given stay."""
    with transaction.atomic():
        _seal(region, sealed)
        events.record(
            "region.credentials", by=by, target=region.slug, detail={"summary": ", ".join(sorted(sealed))}
        )
        ask_for_check(region)


def set_enabled(region: Region, *, enabled: bool, by: User) -> None:
    """A disabled region takes no new cluster; those that are there go on."""
    with transaction.atomic():
        region.enabled = enabled
        region.save(update_fields=["enabled"])
        events.record("region.enable" if enabled else "region.disable", by=by, target=region.slug)


def forget(region: Region) -> None:
    """Remove it with its secrets. Its clusters' records must be gone: the database refuses otherwise."""
    with transaction.atomic():
        secrets.drop(secrets_owner(region.slug))
        region.delete()


def ask_for_check(region: Region) -> None:
    """Have a worker look again, once the current transaction has committed."""
    region.readiness_asked_at = timezone.now()
    region.save(update_fields=["readiness_asked_at"])
    transaction.on_commit(lambda: check_region.apply_async((region.pk,), retry=False), robust=True)


def _seal(region: Region, sealed: Mapping[str, bytes]) -> None:
    for kind, value in sealed.items():
        secrets.put(secrets_owner(region.slug), kind, value)
