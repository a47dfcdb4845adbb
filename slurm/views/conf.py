"""The Slurm configuration page: the whole file with the platform's lines locked, checked as one types, then reviewed.

Without JavaScript it is a text area and a Review button. Everything that it decides is in `slurm.configuration`.
"""

from dataclasses import asdict

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST

from clusters import impacts, promises
from clusters.access import Door, cluster_view
from clusters.acts import Edit
from clusters.impact import Impact
from clusters.lifecycle import Step
from clusters.models import Cluster
from clusters.views.changes import change_url, number_of
from clusters.views.frame import why_not
from clusters.views.start import start_of
from console.errors import ConsoleError, Missing
from console.page import close_dialog, render_dialog, render_page
from console.roles import Action
from slurm.configuration import Configuration, Review, propose_conf, read, read_revision, review, unnumbered
from slurm.containers import has_containers
from slurm.diff_view import stretches
from slurm.key_help import keys_help
from slurm.render import RenderedConf, user_part
from slurm.unread import was_read


@cluster_view(Action.VIEW)
def conf(request: HttpRequest, door: Door) -> HttpResponse:
    """The editor. A posted text is shown instead of the file's own, on top of the revision that is current now;
    `?from=<change>` shows what that change asked for."""
    current = read(door.cluster)
    text, notice = _begun(request, door, current)
    context = {
        "door": door,
        "cluster": door.cluster,
        "tab": "slurm-conf",
        "conf": current,
        "text": text,
        "notice": notice,
        "containers": has_containers(door.cluster),
        "why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
    }
    return render_page(request, "slurm/conf.html", context)


@cache_control(private=True, max_age=3600)
@cluster_view(Action.VIEW)
def keys(request: HttpRequest, door: Door, version: str) -> HttpResponse:
    """The catalogue of the cluster's Slurm, for the help beside the cursor and the form. The same for each version."""
    if version != door.cluster.spec.slurm_version:
        raise Missing(f"{door.cluster.slug} does not run Slurm {version}.", "Load the page again.")
    return JsonResponse({"keys": [asdict(one) for one in keys_help(version)]})


@require_POST
@cluster_view(Action.CHANGE_CLUSTER)
def check(request: HttpRequest, door: Door) -> HttpResponse:
    """What the text alone shows, as one types: problems, what changed and what it would cost. No daemon is asked."""
    found = review(door.cluster, _text(request), base=_base(request), shadow=False)
    return JsonResponse(
        {
            "problems": [asdict(unnumbered(problem)) for problem in found.problems],
            "refused": found.is_refused,
            "changed": len(found.changed),
            "cost": found.cost.value,
            "jobs": found.jobs,
            "lines": _marks(found),
            "diff": render_to_string("slurm/_conf_diff.html", _diff(found)),
        }
    )


@require_POST
@cluster_view(Action.CHANGE_CLUSTER)
def check_and_review(request: HttpRequest, door: Door) -> HttpResponse:
    """The shadow controller's verdict, the diff with each line's cost, and the button that applies it."""
    found = review(door.cluster, _text(request), base=_base(request), shadow=settings.SHADOW_CHECK)
    return render_dialog(request, "slurm/conf_review.html", _context(request, door, found))


@require_POST
@cluster_view(Action.CHANGE_CLUSTER)
def apply(request: HttpRequest, door: Door) -> HttpResponse:
    try:
        found = review(door.cluster, _text(request), base=_base(request), shadow=False)
        if impact := _impact(door.cluster, found):
            promises.keep(request.POST.get("promise", ""), impact)
        change = propose_conf(door, _text(request), _base(request), start_at=start_of(request.POST))
    except ConsoleError as error:
        found = review(door.cluster, _text(request), base=_base(request), shadow=False)
        context = {**_context(request, door, found), "error": error}
        return render_dialog(request, "slurm/conf_review.html", context, status=error.status)
    return close_dialog(request, change_url(change))


def _begun(request: HttpRequest, door: Door, current: Configuration) -> tuple[str, str]:
    """The text to begin with, and a sentence on where it is from when it is not the file's own."""
    if request.method == "POST":
        base = read_revision(door.cluster, _base(request))
        part = user_part(_text(request), RenderedConf(base.text, base.first_line, base.last_line))
        if base.revision == current.revision:
            return _text(request), ""
        return current.with_settings(part.text), f"Your text, now on top of revision {current.revision}."
    number = number_of(request.GET.get("from"))
    change = door.cluster.changes.select_related("revision").filter(number=number).first() if number else None
    if change is None or change.revision is None or change.revision_id == door.cluster.revision_id:
        return current.text, ""
    return (
        current.with_settings(change.revision.parsed.slurm_conf),
        f"The text of change {change.number} ({change.status}), which the cluster does not run.",
    )


def _context(request: HttpRequest, door: Door, found: Review) -> dict[str, object]:
    cluster = door.cluster
    where = {"team": cluster.team.slug, "cluster": cluster.slug}
    return {
        "door": door,
        "cluster": cluster,
        "review": found,
        "impact": _impact(cluster, found),
        "text": _text(request),
        "start_at": request.POST.get("start_at", ""),
        "when": request.POST.get("when", ""),
        "problems": [asdict(unnumbered(problem)) for problem in found.problems],
        "editor": reverse("slurm-conf", kwargs=where),
        "shadow": settings.SHADOW_CHECK and was_read(found.problems),
        **_diff(found),
    }


def _impact(cluster: Cluster, found: Review) -> Impact | None:
    """None for what would not be applied anyway."""
    if found.is_refused or not found.changed:
        return None
    spec = cluster.spec
    return impacts.preview(cluster, Edit(spec, spec.with_slurm_conf(found.settings)))


def _marks(found: Review) -> list[dict[str, object]]:
    """The changed lines for marks in the editor: `row` in the new text, `was` the former line, which stood below line
    `after` of the new text."""
    marks: list[dict[str, object]] = []
    after = 0
    for line in found.lines:
        if line.op != "same":
            marks.append({"op": line.op, "row": line.new_line, "was": line.old, "after": after})
        after = line.new_line or after
    return marks


def _diff(found: Review) -> dict[str, object]:
    return {"stretches": stretches(found.lines), "review": found}


def _text(request: HttpRequest) -> str:
    """Browsers send CRLF, which Slurm would take for a part of each value."""
    return request.POST.get("text", "").replace("\r\n", "\n")


def _base(request: HttpRequest) -> int | None:
    return number_of(request.POST.get("base"))
