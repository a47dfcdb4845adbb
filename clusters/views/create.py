"""Creating a cluster: the form, and the spec beside it as it would be stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from clusters.changes import create_cluster
from clusters.cloning import left_out, like
from clusters.forms import CreateForm, initial_from, is_field
from clusters.inventory import most_nodes
from clusters.lifecycle import Status
from clusters.models import Cluster, Image, Region
from clusters.order import spec_for
from clusters.spec import ClusterSpec, to_json
from clusters.validate import validate
from clusters.yamlish import yamlish
from console.access import team_view
from console.errors import Problem, Rejected
from console.models import Membership, Team
from console.page import render_page
from console.roles import Action


@dataclass(frozen=True)
class Draft:
    """What the form amounts to: a spec as far as one can be made of it, and everything wrong with it."""

    region: Region | None
    spec: ClusterSpec | None
    problems: tuple[Problem, ...]


@team_view(Action.CREATE_CLUSTER)
def create(request: HttpRequest, membership: Membership) -> HttpResponse:
    """`?from=` fills the form in from another cluster of the team; other names in the query fill their fields."""
    regions = _regions()
    if request.method != "POST":
        form = CreateForm(
            initial=_initial(request, membership.team, regions), regions=regions, team=membership.team
        )
        return _show(request, membership, form)
    form = CreateForm(request.POST, regions=regions, team=membership.team)
    if form.is_valid():
        draft = _draft(form, membership.team)
        if draft.region and draft.spec and not draft.problems:
            try:
                cluster = create_cluster(membership.team, draft.region, draft.spec, by=membership)
            except Rejected as error:
                form.show_problems(error.problems, draft.spec)
            else:
                return redirect("cluster", team=membership.team.slug, cluster=cluster.slug)
        form.show_problems(draft.problems, draft.spec)
    return _show(request, membership, form, status=422)


@require_POST
@team_view(Action.CREATE_CLUSTER)
def preview(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The spec that the form would store, while it is typed. Touches nothing."""
    form = CreateForm(request.POST, regions=_regions(), team=membership.team)
    draft = _draft(form, membership.team) if form.is_valid() else Draft(None, None, ())
    return render_page(request, "clusters/_preview.html", _seen(form, draft))


def _show(
    request: HttpRequest, membership: Membership, form: CreateForm, *, status: int = 200
) -> HttpResponse:
    draft = Draft(None, None, ())
    source = _source(membership.team, str(form["source"].value() or ""))
    context: dict[str, object] = {"team": membership.team, "form": form, "source": source}
    return render_page(
        request,
        "clusters/create.html",
        {**context, "left_out": left_out(source) if source else (), **_seen(form, draft)},
        status=status,
    )


def _seen(form: CreateForm, draft: Draft) -> dict[str, object]:
    spec = draft.spec
    return {
        "text": yamlish(to_json(spec)) if spec else "",
        "problems": draft.problems,
        "gpus": spec.total_gpus if spec else 0,
        "nodes": len(spec.node_names) if spec else 0,
        "price": _price(form, spec) if spec else None,
    }


def _price(form: CreateForm, spec: ClusterSpec) -> Decimal | None:
    """Per hour, when every plan of it has one."""
    prices = {plan.slug: plan.price_per_hour for plan in form.plans}
    parts = [(prices.get(group.shape.plan), len(group.ordinals)) for group in spec.groups]
    if any(price is None for price, _ in parts):
        return None
    return sum((price * count for price, count in parts if price), Decimal(0))


def _regions() -> list[Region]:
    return list(Region.objects.filter(enabled=True).order_by("slug"))


def _initial(request: HttpRequest, team: Team, regions: Sequence[Region]) -> dict[str, object]:
    values: dict[str, object] = {"gpu_nodes": 2, "cpu_nodes": 0}
    if regions:
        values["login_users"] = not regions[0].platform.logins().why_not
        values["region"] = regions[0].slug
        plans = list(regions[0].plans.order_by("-gpus", "slug"))
        values["gpu_plan"] = next((plan.slug for plan in plans if plan.gpus), "")
        values["cpu_plan"] = next((plan.slug for plan in plans if not plan.gpus), "")
    image = Image.objects.filter(enabled=True).order_by("pk").first()
    values["image"] = image.slug if image else ""
    source = _source(team, request.GET.get("from", ""))
    asked = {key: value for key, value in request.GET.items() if is_field(key)}
    return {**values, **(initial_from(source) if source else {}), **asked}


def _source(team: Team, slug: str) -> Cluster | None:
    known = team.clusters.exclude(status=Status.DELETED).select_related("team", "region", "revision")
    return known.filter(slug=slug).first()


def _draft(form: CreateForm, team: Team) -> Draft:
    try:
        region, spec = spec_for(form.order)
    except Rejected as error:
        return Draft(None, None, error.problems)
    source = _source(team, form.cleaned_data["source"])
    if source and form.cleaned_data["keeps_conf"]:
        spec = like(source.spec, spec)
    taken = frozenset(team.clusters.exclude(status=Status.DELETED).values_list("slug", flat=True))
    return Draft(region, spec, validate(spec, taken=taken, most_nodes=most_nodes(region)))
