"""Another image: GET with one in the query says what it would restart and what its Slurm does not take, POST asks for
the change."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import changes
from clusters.access import Door, cluster_view
from clusters.acts import Edit
from clusters.impacts import preview
from clusters.inventory import ImageChoice, image_choices, with_image
from clusters.lifecycle import Status, Step, refusal
from clusters.spec import ClusterSpec
from clusters.views.changes import change_url
from clusters.views.confirm import confirm
from clusters.views.start import start_of
from console.errors import Conflict, Missing, Problem
from console.numbers import typed_number
from console.page import render_dialog
from console.roles import Action
from slurm.checks.conf import check_conf

HIGHEST_REVISION = 2**31 - 1


@cluster_view(Action.CHANGE_CLUSTER)
def upgrade(request: HttpRequest, door: Door) -> HttpResponse:
    """Dialog and page. Images that cannot follow are shown with the reason."""
    cluster, spec = door.cluster, door.cluster.spec
    if why := refusal(Status(cluster.status), Step.CHANGE):
        raise Conflict(why, "Its page shows what it allows now.")
    choices = image_choices(cluster.region, spec)
    typed = request.POST or request.GET
    chosen = _chosen(choices, typed.get("image", ""))
    if chosen and chosen.why_not and request.method != "POST":
        chosen = None
    base = typed_number(typed.get("base", ""), most=HIGHEST_REVISION)
    where = {"team": cluster.team.slug, "cluster": cluster.slug}
    context: dict[str, object] = {
        "door": door,
        "cluster": cluster,
        "choices": choices,
        "chosen": chosen,
        "revision": base or (cluster.revision.number if cluster.revision else 0),
        "back": reverse("cluster", kwargs=where),
        "conf_url": reverse("slurm-conf", kwargs=where),
    }
    if chosen is None:
        context["why_not"] = "There is no image here that this cluster can go to."
        return render_dialog(request, "slurm/upgrade.html", context)
    wanted = with_image(spec, chosen.image)
    if unfit := unfit_lines(wanted):
        why_not = f"Slurm {wanted.slurm_version} would not read the cluster's settings."
        context |= {"unfit": unfit, "why_not": why_not}
    return confirm(
        request,
        "slurm/upgrade.html",
        context,
        lambda: changes.propose(
            cluster, wanted, base=base, by=door.membership, start_at=start_of(request.POST)
        ),
        change_url,
        impact=preview(cluster, Edit(spec, wanted)),
    )


def unfit_lines(wanted: ClusterSpec) -> tuple[Problem, ...]:
    """Lines of the user's slurm.conf that the release of `wanted` does not take. Its daemons are not asked here."""
    found = check_conf(wanted.slurm_conf, version=wanted.slurm_version, node_names=wanted.node_names)
    return tuple(problem for problem in found if problem.blocking)


def _chosen(choices: list[ImageChoice], slug: str) -> ImageChoice | None:
    """The first possible one while nothing is chosen. Raises Missing for what is no image here."""
    if not slug:
        return next((choice for choice in choices if not choice.why_not), None)
    found = next((choice for choice in choices if choice.image.slug == slug), None)
    if found is None:
        raise Missing(f"There is no image {slug[:40]} here.", "Choose one of the list.")
    return found
