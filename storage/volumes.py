"""What people do to volumes: make, grow, rename, delete.

Each asks the role again, whoever calls, writes the row and its audit event in one transaction, and has a worker bring
it about (`storage.tending`).

Row locks of this app are here and in `storage.mounting`, which writes mounts down: both lock the volume before they
look at what the other wrote.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.utils import timezone

from clusters.models import Region
from clusters.validate import LABEL
from console import events
from console.access import membership_for
from console.errors import Conflict, Missing, Problem, Rejected
from console.models import Membership, Team
from console.roles import Action
from console.words import listed
from storage.attachments import Attachment, attachments_of
from storage.kinds import Kind
from storage.models import Offer, Volume
from storage.store import has_volumes
from storage.tasks import tend_volume

MOST_VOLUMES = 200
NEVER_SHRINKS = (
    "A volume only grows: what is stored beyond the new end would be cut off. Make a smaller one and copy."
)
DATASET_SIZE = "A dataset's size is that of its files."


@dataclass(frozen=True)
class Wish:
    """A new volume as typed: slugs of a region and of what it offers."""

    name: str
    region: str
    offer: str
    size_gib: int | None = None


def create(team: Team, wish: Wish, *, by: Membership) -> Volume:
    """Raises Forbidden, or Rejected with every problem at its field."""
    _authorise(team, by, Action.CHANGE_VOLUMES)
    region = Region.objects.filter(slug=wish.region, enabled=True).first()
    offer = Offer.objects.filter(region=region, slug=wish.offer).first() if region else None
    problems = (*_name_problems(wish.name), *_place_problems(wish, region, offer), *_count_problems(team))
    if problems or region is None or offer is None:
        raise Rejected(f"The volume {wish.name} was not made.", tuple(problems))
    volume = Volume(
        team=team, region=region, offer=offer, slug=wish.name, kind=offer.kind, storage_class=offer.storage_class,
        source=offer.source, size_gib=wish.size_gib or offer.most_gib, by=by.user, orphan_since=timezone.now(),
    )  # fmt: skip
    with _name_is_free(team, wish.name), transaction.atomic():
        volume.save()
        _tell(volume, "volume.create", by, f"{volume.size_gib} GiB of {offer.slug} in {region.slug}")
    return volume


def grow(volume: Volume, size_gib: int, *, by: Membership) -> None:
    """Raises Forbidden, Conflict for one that is going, or Rejected at `size_gib`."""
    _authorise(volume.team, by, Action.CHANGE_VOLUMES)
    with transaction.atomic():
        row = _locked(volume)
        if problem := growth_problem(row, size_gib):
            raise Rejected(f"{row.slug} stays at {row.size_gib} GiB.", (problem,))
        was, row.size_gib = row.size_gib, size_gib
        row.save(update_fields=["size_gib"])
        _tell(row, "volume.grow", by, f"{was} to {size_gib} GiB")


def rename(volume: Volume, name: str, *, by: Membership) -> None:
    """A new name for people; the files, and where they are mounted, stay. Raises Forbidden, Conflict, Rejected."""
    _authorise(volume.team, by, Action.CHANGE_VOLUMES)
    if problems := tuple(_name_problems(name)):
        raise Rejected(f"{volume.slug} keeps its name.", problems)
    with _name_is_free(volume.team, name), transaction.atomic():
        row = _locked(volume)
        was, row.slug = row.slug, name
        row.save(update_fields=["slug"])
        _tell(row, "volume.rename", by, f"{was} to {name}")


def delete(volume: Volume, *, by: Membership) -> None:
    """With everything in it. Raises Forbidden, or Conflict while a cluster may use it."""
    _authorise(volume.team, by, Action.DELETE_VOLUMES)
    with transaction.atomic():
        row = _locked(volume)
        if why := why_not_deleted(row, attachments_of(row.team).get(row.key, [])):
            raise Conflict(why, "Unmount it there first, on the cluster's Volumes tab.")
        row.deleted_at = timezone.now()
        row.save(update_fields=["deleted_at"])
        _tell(row, "volume.delete", by, f"{row.size_gib} GiB in {row.region.slug}")


def volume_for(membership: Membership, name: str) -> Volume:
    """The team's volume of that name. Raises Missing."""
    volume = membership.team.volumes.select_related("team", "region", "offer").filter(slug=name).first()
    if volume is None:
        raise Missing(
            f"There is no volume {name} in team {membership.team.slug}.",
            "It may have been deleted or renamed; the Volumes page lists all.",
        )
    return volume


def growth_problem(volume: Volume, size_gib: int) -> Problem | None:
    """Why the volume cannot have that size; None when it can."""
    most = volume.offer.most_gib if volume.offer else None
    if volume.is_dataset:
        return Problem("size_gib", DATASET_SIZE, "It is read-only.")
    if size_gib < volume.size_gib:
        return Problem("size_gib", NEVER_SHRINKS)
    if size_gib == volume.size_gib:
        return Problem("size_gib", f"It has {size_gib} GiB already.")
    if most is not None and size_gib > most:
        return Problem("size_gib", f"{volume.offer} has at most {most} GiB a volume.")
    return None


def why_not_deleted(volume: Volume, attachments: list[Attachment]) -> str:
    """A sentence, empty when it may be deleted."""
    if attachments:
        where = listed([attachment.cluster.slug for attachment in attachments])
        return f"{volume.slug} is mounted by {where}."
    return ""


def _authorise(team: Team, by: Membership, action: Action) -> None:
    """By the membership as it is now, not as it was when the page was opened."""
    membership_for(by.user, team.slug, action)


def _locked(volume: Volume) -> Volume:
    """As it is now, locked until the transaction ends. Raises Missing or Conflict when it is gone or going."""
    rows = Volume.objects.select_for_update(of=("self",)).select_related("team", "region", "offer")
    row = rows.filter(pk=volume.pk).first()
    if row is None:
        raise Missing(f"{volume.slug} is gone.", "The Volumes page lists those that are there.")
    if row.deleted_at is not None:
        raise Conflict(f"{row.slug} is being deleted.", "Nothing more can be done with it.")
    return row


def _name_problems(name: str) -> Iterator[Problem]:
    if not LABEL.fullmatch(name):
        yield Problem(
            "name",
            "Use 1 to 40 lower-case letters, digits and hyphens.",
            "It starts with a letter and does not end with a hyphen.",
        )
    elif name == "new":
        yield Problem("name", "new is the address of another page.", "Choose another name.")


def _place_problems(wish: Wish, region: Region | None, offer: Offer | None) -> Iterator[Problem]:
    if region is None:
        yield Problem("region", f"There is no region {wish.region!r}.", "Choose one of the list.")
        return
    if not has_volumes(region.provisioner):
        yield Problem("region", f"{region.slug} keeps no volumes.", "Choose another region.")
    if offer is None:
        yield Problem("offer", f"{region.slug} offers no {wish.offer!r}.", "Choose one of the list.")
        return
    if offer.kind == Kind.DATASET:
        return
    if wish.size_gib is None or not 1 <= wish.size_gib <= offer.most_gib:
        yield Problem("size_gib", f"Ask for 1 to {offer.most_gib} GiB of {offer.slug}.")


def _count_problems(team: Team) -> Iterator[Problem]:
    if team.volumes.count() >= MOST_VOLUMES:
        yield Problem("", f"A team has at most {MOST_VOLUMES} volumes.", "Delete one that nobody uses.")


class _name_is_free:
    """Turns the database's refusal of a second volume of that name into a problem at the field."""

    def __init__(self, team: Team, name: str) -> None:
        self.team, self.name = team, name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, IntegrityError):
            problem = Problem("name", f"The team already has a volume {self.name}.", "Choose another name.")
            raise Rejected(f"There is a volume {self.name}.", (problem,)) from error


def _tell(volume: Volume, verb: str, by: Membership, summary: str) -> None:
    """The audit trail, and a worker on commit. A lost message costs half a minute: every volume is looked at again."""
    events.record(verb, by=by.user, team=volume.team, target=volume.slug, detail={"summary": summary})
    transaction.on_commit(lambda: tend_volume.apply_async((volume.pk,), retry=False), robust=True)
