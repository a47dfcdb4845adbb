"""Registering a region, changing its settings, replacing its credentials: one form of the platform's, three pages."""

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from clusters import regions as acts
from clusters.lifecycle import Status
from clusters.models import Region
from clusters.platform import Platform, RegionRef, platform_kind, platform_kinds
from clusters.region_form import Purpose, RegionForm
from console.access import staff_view
from console.errors import Problem, Rejected
from console.models import User
from console.page import close_dialog, render_dialog, render_page


@staff_view
def register(request: HttpRequest, user: User) -> HttpResponse:
    """`?provisioner=` chooses the kind; until then the page shows which there are."""
    kinds = platform_kinds()
    chosen = request.GET.get("provisioner", "")
    if chosen not in kinds:
        # Templates call what is callable, and a class is.
        shown = [(name, kind.title, kind.about) for name, kind in kinds.items()]
        return render_page(request, "clusters/region_kinds.html", {"kinds": shown})
    platform = kinds[chosen]
    form = _bound(platform, request, Purpose.REGISTER, initial=platform.form.initial_from({}))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            acts.register(
                chosen, slug=data["slug"], name=data["name"], config=form.config, sealed=form.secrets, by=user
            )
        except Rejected as error:
            _place(error.problems, form)
        else:
            return redirect("region", region=data["slug"])
    documents = sorted(platform(RegionRef("")).documents())
    context = {"form": form, "title": platform.title, "provisioner": chosen, "documents": documents}
    return render_page(request, "clusters/region_new.html", context, status=422 if form.errors else 200)


@staff_view
def region_settings(request: HttpRequest, user: User, region: str) -> HttpResponse:
    found = get_object_or_404(Region, slug=region)
    kind = platform_kind(found.provisioner)
    initial = {"name": found.name, **kind.form.initial_from(found.config)}
    form = _bound(kind, request, Purpose.SETTINGS, initial=initial, region=found)
    if request.method == "POST" and form.is_valid():
        acts.change_settings(found, name=form.cleaned_data["name"], config=form.config, by=user)
        return redirect("region", region=region)
    context = {"form": form, "region": found, "title": kind.title}
    return render_page(request, "clusters/region_settings.html", context, status=422 if form.errors else 200)


@staff_view
def region_credentials(request: HttpRequest, user: User, region: str) -> HttpResponse:
    """What is typed replaces what is sealed; fields left empty stay as they are."""
    found = get_object_or_404(Region, slug=region)
    form = _bound(platform_kind(found.provisioner), request, Purpose.CREDENTIALS, region=found)
    if request.method == "POST" and form.is_valid():
        acts.replace_credentials(found, form.secrets, by=user)
        return close_dialog(request, reverse("region", kwargs={"region": region}))
    context = {"form": form, "region": found}
    status = 422 if form.errors else 200
    return render_dialog(request, "clusters/region_credentials.html", context, status=status)


def _bound(
    kind: type[Platform],
    request: HttpRequest,
    purpose: Purpose,
    *,
    initial: dict[str, object] | None = None,
    region: Region | None = None,
) -> RegionForm:
    is_post = request.method == "POST"
    return kind.form(
        request.POST if is_post else None,
        request.FILES if is_post else None,
        purpose=purpose,
        kept=acts.kept_secrets(region) if region else frozenset(),
        has_clusters=bool(region and region.clusters.exclude(status=Status.DELETED).exists()),
        initial=initial,
    )


def _place(problems: Iterable[Problem], form: RegionForm) -> None:
    for problem in problems:
        form.add_error(problem.path, f"{problem.message} {problem.hint}".strip())
