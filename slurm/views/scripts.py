"""The Scripts page: which life scripts the cluster has, an editor for each, and the review that applies one.

Without JavaScript the editor is a text area. Everything that it decides is in `slurm.scripts.life`.
"""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from clusters import impacts, promises
from clusters.access import Door, cluster_view
from clusters.impact import Impact
from clusters.life_scripts import MOST_BYTES
from clusters.lifecycle import Step
from clusters.models import Change, Cluster
from clusters.views.changes import change_url, number_of
from clusters.views.confirm import confirm
from clusters.views.frame import why_not
from clusters.views.start import start_of
from console.errors import ConsoleError
from console.page import close_dialog, render_dialog, render_page
from console.roles import Action
from slurm.scripts import failures as script_failures
from slurm.scripts import life as life_scripts
from slurm.scripts import trial as script_trial
from slurm.scripts.life import Review, propose_script
from slurm.scripts.shellcheck import program_at_hand
from slurm.scripts.workers import OF_WORKERS, worker_scripts

FIRST = "#!/bin/bash\n"


@cluster_view(Action.VIEW)
def scripts(request: HttpRequest, door: Door) -> HttpResponse:
    found = life_scripts.scripts(door.cluster)
    context = {
        **_about(door),
        "scripts": found,
        "failures": script_failures.failures(door.cluster),
        "workers": worker_scripts(door.cluster),
        "of_workers": [one for one in found if one.hook in OF_WORKERS],
    }
    return render_page(request, "slurm/scripts.html", context)


@cluster_view(Action.VIEW)
def script(request: HttpRequest, door: Door, hook: str) -> HttpResponse:
    """The editor. A posted text is shown instead of the script's own, on top of the revision that is current now."""
    found = life_scripts.script(door.cluster, hook)
    text = request.POST.get("text", "") if request.method == "POST" else found.text or FIRST
    context = {
        **_about(door),
        "script": found,
        "text": text,
        "most_kib": MOST_BYTES // 1024,
        "has_shellcheck": program_at_hand() is not None,
    }
    return render_page(request, "slurm/script.html", context)


@require_POST
@cluster_view(Action.CHANGE_CLUSTER)
def review(request: HttpRequest, door: Door, hook: str) -> HttpResponse:
    """The problems, the advice, the diff, what it costs, and the button that applies it."""
    found = _review(request, door, hook)
    return render_dialog(request, "slurm/script_review.html", _context(request, door, found))


@require_POST
@cluster_view(Action.CHANGE_CLUSTER)
def apply(request: HttpRequest, door: Door, hook: str) -> HttpResponse:
    found = _review(request, door, hook)
    context = _context(request, door, found)
    try:
        if impact := _impact(door.cluster, found):
            promises.keep(request.POST.get("promise", ""), impact)
        start_at = start_of(request.POST)
        change = propose_script(
            door, hook, found.text, number_of(request.POST.get("base")), start_at=start_at
        )
    except ConsoleError as error:
        context["error"] = error
        return render_dialog(request, "slurm/script_review.html", context, status=error.status)
    return close_dialog(request, change_url(change))


@require_POST
@cluster_view(Action.CHANGE_CLUSTER)
def trial(request: HttpRequest, door: Door, hook: str) -> HttpResponse:
    """The review once more, with what the script did on one drained node."""
    found = _review(request, door, hook)
    context = _context(request, door, found)
    try:
        context["trial"] = script_trial.try_script(door, hook, found.text, request.POST.get("node", ""))
    except ConsoleError as error:
        context["trial_error"] = error
        return render_dialog(request, "slurm/script_review.html", context, status=error.status)
    return render_dialog(request, "slurm/script_review.html", context)


@cluster_view(Action.CHANGE_CLUSTER)
def revert(request: HttpRequest, door: Door, hook: str) -> HttpResponse:
    """Back to the script before the one that drains nodes, and these nodes resumed."""
    failure = script_failures.failure_of(door.cluster, hook)
    impact = impacts.preview(door.cluster, script_failures.reverting(door.cluster, failure))
    revision = door.cluster.revision
    back = reverse("scripts", kwargs={"team": door.cluster.team.slug, "cluster": door.cluster.slug})
    context = {
        **_about(door),
        "failure": failure,
        "held": script_failures.held_jobs(door.cluster),
        "number": revision.number if revision else 0,
        "back": back,
    }

    def ask() -> Change:
        base, start_at = number_of(request.POST.get("base")), start_of(request.POST)
        return script_failures.revert(door, hook, base, start_at=start_at)

    return confirm(request, "slurm/script_revert.html", context, ask, change_url, impact=impact)


def _review(request: HttpRequest, door: Door, hook: str) -> Review:
    text = "" if "remove" in request.POST else request.POST.get("text", "")
    return life_scripts.review(door.cluster, hook, text, base=number_of(request.POST.get("base")))


def _context(request: HttpRequest, door: Door, found: Review) -> dict[str, object]:
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug, "hook": found.script.hook.value}
    return {
        **_about(door),
        "review": found,
        "script": found.script,
        "impact": _impact(door.cluster, found),
        "can_try": found.script.hook in script_trial.TRIED and bool(found.text) and not found.is_refused,
        "places": script_trial.places(door.cluster),
        "limit_s": script_trial.LIMIT_S,
        "start_at": request.POST.get("start_at", ""),
        "when": request.POST.get("when", ""),
        "editor": reverse("script", kwargs=where),
    }


def _impact(cluster: Cluster, found: Review) -> Impact | None:
    """None for what would not be applied anyway."""
    if found.is_refused or found.diff is None:
        return None
    return impacts.preview(cluster, found.edit)


def _about(door: Door) -> dict[str, object]:
    return {
        "door": door,
        "cluster": door.cluster,
        "tab": "slurm-conf",
        "at": "scripts",
        "why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
        "resume_why_not": why_not(door, Action.OPERATE_NODE, Step.OPERATE),
    }
