"""The team's volumes: the list with its orphans, and the dialogs that make, grow, rename and delete one."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.models import Region
from console.access import team_view, why_not
from console.dialog import ProblemForm, form_dialog
from console.errors import Problem, Rejected
from console.models import Membership
from console.page import render_page
from console.roles import Action
from storage import volumes as acts
from storage.forms import GrowForm, NameForm, VolumeForm
from storage.listing import Row, cost_of, rows_of, total
from storage.models import Volume
from storage.store import has_volumes


@team_view(Action.VIEW)
def volumes(request: HttpRequest, membership: Membership) -> HttpResponse:
    rows = rows_of(membership.team)
    mounted = [row for row in rows if not row.is_orphan]
    orphans = [row for row in rows if row.is_orphan]
    context = {
        "team": membership.team,
        "mounted": mounted,
        "orphans": orphans,
        "orphans_cost": total(orphans),
        "has_offers": any(region.offers.exists() for region in _regions()),
        "change_why_not": why_not(membership, Action.CHANGE_VOLUMES),
        "delete_why_not": why_not(membership, Action.DELETE_VOLUMES),
    }
    return render_page(request, "storage/volumes.html", context)


@team_view(Action.CHANGE_VOLUMES)
def add(request: HttpRequest, membership: Membership) -> HttpResponse:
    """`?region=` and the other fields' names in the query fill the form in."""
    regions = _regions()
    begun = {"size_gib": 100, "region": regions[0].slug if regions else "", **request.GET.dict()}
    form = VolumeForm(request.POST or None, initial=begun, regions=regions)
    if not form.is_bound and form.offers:
        form.initial.setdefault("offer", form.offers[0].slug)
    return _dialog(
        request, membership, form, "storage/volume_new.html", {},
        lambda: acts.create(membership.team, form.wish, by=membership),
    )  # fmt: skip


@team_view(Action.CHANGE_VOLUMES)
def growth(request: HttpRequest, membership: Membership, volume: str) -> HttpResponse:
    found = acts.volume_for(membership, volume)
    form = GrowForm(request.POST or None, initial={"size_gib": found.size_gib})
    context = {"volume": found, "never": acts.NEVER_SHRINKS, "cost": cost_of(found)}
    return _dialog(
        request, membership, form, "storage/volume_growth.html", context,
        lambda: acts.grow(found, form.cleaned_data["size_gib"], by=membership),
    )  # fmt: skip


@team_view(Action.CHANGE_VOLUMES)
def name(request: HttpRequest, membership: Membership, volume: str) -> HttpResponse:
    found = acts.volume_for(membership, volume)
    form = NameForm(request.POST or None, initial={"name": found.slug})
    return _dialog(
        request, membership, form, "storage/volume_name.html", {"volume": found},
        lambda: acts.rename(found, form.cleaned_data["name"], by=membership),
    )  # fmt: skip


@team_view(Action.DELETE_VOLUMES)
def deletion(request: HttpRequest, membership: Membership, volume: str) -> HttpResponse:
    """Asks for the volume's name once more."""
    found = acts.volume_for(membership, volume)
    form = NameForm(request.POST or None)
    form.fields["name"].label = f"Type {found.slug} to confirm"
    row = next(row for row in rows_of(membership.team) if row.volume == found)
    return _dialog(
        request, membership, form, "storage/volume_deletion.html", {"volume": found, "row": row},
        lambda: _delete(found, row, form.cleaned_data["name"].strip(), membership),
    )  # fmt: skip


def _delete(found: Volume, row: Row, typed: str, membership: Membership) -> None:
    if typed != found.slug:
        words = f"That is not the name. Type {found.slug} to confirm."
        raise Rejected(f"{found.slug} stays.", (Problem("name", words),))
    acts.delete(found, by=membership)


def _dialog(
    request: HttpRequest,
    membership: Membership,
    form: ProblemForm,
    template: str,
    context: Mapping[str, object],
    act: Callable[[], object],
) -> HttpResponse:
    """Ends in the list of volumes."""
    volumes = reverse("volumes", kwargs={"team": membership.team.slug})

    def then() -> str:
        act()
        return volumes

    context = {**context, "team": membership.team, "back": volumes}
    return form_dialog(request, template, context, form, then)


def _regions() -> list[Region]:
    """Those that keep volumes and offer some, the first by name first."""
    offering = Region.objects.filter(enabled=True, offers__isnull=False).distinct().order_by("slug")
    return [region for region in offering if has_volumes(region.provisioner)]
