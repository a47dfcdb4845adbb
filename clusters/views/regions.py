"""Pages of regions, for platform staff: the list, and one region with its readiness, plans and settings."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from clusters import regions as acts
from clusters.finding import Finding, State
from clusters.lifecycle import Status
from clusters.models import Region
from clusters.platform import RegionRef, platform_kinds, platform_named
from clusters.readiness import is_being_checked, is_overdue, trouble
from console.access import staff_view
from console.errors import Missing
from console.models import User
from console.page import close_dialog, render_dialog, render_page

LIVE_CLUSTERS = ~Q(clusters__status=Status.DELETED)


@dataclass(frozen=True)
class Row:
    region: Region
    kind: str
    word: str
    tone: str
    trouble: Finding | None


@staff_view
def regions(request: HttpRequest, user: User) -> HttpResponse:
    listed = Region.objects.annotate(
        cluster_count=Count("clusters", filter=LIVE_CLUSTERS, distinct=True),
        plan_count=Count("plans", distinct=True),
    )
    rows = [_row(region) for region in listed.order_by("slug")]
    return render_page(request, "clusters/regions.html", {"rows": rows})


@staff_view
def region(request: HttpRequest, user: User, region: str) -> HttpResponse:
    found = get_object_or_404(Region, slug=region)
    return render_page(request, "clusters/region.html", _shown(found))


@require_POST
@staff_view
def region_check(request: HttpRequest, user: User, region: str) -> HttpResponse:
    """Have it looked at now. The page shows that it is, and then what was found."""
    acts.ask_for_check(get_object_or_404(Region, slug=region))
    return redirect("region", region=region)


@staff_view
def region_standing(request: HttpRequest, user: User, region: str) -> HttpResponse:
    """Disable, or enable again."""
    found = get_object_or_404(Region, slug=region)
    if request.method == "POST":
        acts.set_enabled(found, enabled=not found.enabled, by=user)
        return close_dialog(request, reverse("region", kwargs={"region": region}))
    context = {"region": found, "clusters": found.clusters.exclude(status=Status.DELETED).count()}
    return render_dialog(request, "clusters/region_standing.html", context)


@require_GET
@staff_view
def region_document(request: HttpRequest, user: User, region: str, document: str) -> HttpResponse:
    return _download(get_object_or_404(Region, slug=region).platform.documents(), document)


@require_GET
@staff_view
def draft_document(request: HttpRequest, user: User, provisioner: str, document: str) -> HttpResponse:
    """The same before there is a region: what to apply there first, with the settings that a form begins with."""
    return _download(platform_named(provisioner, RegionRef("")).documents(), document)


def _download(documents: Mapping[str, str], name: str) -> HttpResponse:
    if name not in documents:
        raise Http404
    disposition = f'attachment; filename="{name}"'
    return HttpResponse(
        documents[name],
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": disposition},
    )


def _row(region: Region) -> Row:
    kind = platform_kinds().get(region.provisioner)
    return Row(region, kind.title if kind else region.provisioner, *standing(region), trouble(region))


def standing(region: Region) -> tuple[str, str]:
    """A word for how the region is, and its tone."""
    if not region.enabled:
        return "disabled", "idle"
    if region.readiness_at is None:
        return "not checked yet", "idle"
    states = {finding.state for finding in region.findings}
    if State.BAD in states or not states:
        return "not ready", "bad"
    return ("ready, with remarks", "warn") if State.WARN in states else ("ready", "ok")


def _shown(region: Region) -> dict[str, object]:
    kind = platform_kinds().get(region.provisioner)
    word, tone = standing(region)
    return {
        "region": region,
        "title": kind.title if kind else "",
        "word": word,
        "tone": tone,
        "findings": region.findings,
        "is_being_checked": is_being_checked(region),
        "is_overdue": is_overdue(region),
        "plans": region.plans.order_by("-gpus", "slug"),
        # `offers` is what storage.models.Offer calls its way back; clusters does not import storage.
        "offers": region.offers.order_by("slug"),
        "cluster_count": region.clusters.exclude(status=Status.DELETED).count(),
        "secrets": sorted(acts.kept_secrets(region)),
        "has_credentials": bool(kind and kind.form.secret_fields),
        "settings": _settings(region),
        "documents": sorted(_documents(region)),
    }


def _settings(region: Region) -> list[tuple[str, str]]:
    """Label and value of what the platform's form asks for, as it is set; nothing for an unknown platform."""
    kind = platform_kinds().get(region.provisioner)
    if kind is None:
        return []
    return kind.form.summary(region.config)


def _documents(region: Region) -> Mapping[str, str]:
    try:
        return region.platform.documents()
    except Missing:
        return {}
