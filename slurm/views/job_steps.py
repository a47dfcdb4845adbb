"""Dialogs that cancel, hold, release and requeue jobs, one or many: GET shows what it costs, POST does it."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from clusters.access import Door, cluster_view
from console.errors import Missing, Rejected
from console.page import close_dialog, render_dialog
from console.roles import Action
from console.words import count
from slurm import operations
from slurm.jobs.choice import Choice, choose
from slurm.jobs.states import Step

DIALOG = "slurm/job_step.html"
# What a command line, and a person reading the dialog, can take.
MOST_PICKED = 500


@dataclass(frozen=True)
class Wording:
    """How a step is spoken of. `effect` says what happens to a running and to a waiting job."""

    verb: str
    done: str
    running: str
    waiting: str


WORDS = {
    Step.CANCEL: Wording("Cancel", "Cancelled", "ends at once", "leaves the queue"),
    Step.HOLD: Wording("Hold", "Held", "goes on", "does not start until it is released"),
    Step.RELEASE: Wording("Release", "Released", "goes on", "competes for a place again"),
    Step.REQUEUE: Wording(
        "Requeue", "Requeued", "is ended and starts again from the beginning", "keeps its place"
    ),
}


@cluster_view(Action.CONTROL_OWN_JOB)
def cancel(request: HttpRequest, door: Door) -> HttpResponse:
    return _dialog(request, door, Step.CANCEL)


@cluster_view(Action.CONTROL_OWN_JOB)
def hold(request: HttpRequest, door: Door) -> HttpResponse:
    return _dialog(request, door, Step.HOLD)


@cluster_view(Action.CONTROL_OWN_JOB)
def release(request: HttpRequest, door: Door) -> HttpResponse:
    return _dialog(request, door, Step.RELEASE)


@cluster_view(Action.CONTROL_OWN_JOB)
def requeue(request: HttpRequest, door: Door) -> HttpResponse:
    return _dialog(request, door, Step.REQUEUE)


def _dialog(request: HttpRequest, door: Door, step: Step) -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    keys = asked.getlist("job")
    if not keys:
        raise Missing(f"No job was picked to {step.value}.", "Pick jobs in the list first.")
    if len(keys) > MOST_PICKED:
        raise Rejected(f"{len(keys)} jobs are too many at once.", hint=f"Pick at most {MOST_PICKED}.")
    choice = choose(door, step, keys)
    back = _back(request, door, asked.get("next", ""))
    if request.method == "POST" and choice.able:
        DO[step](door, choice.ids)
        _tell(request, choice)
        return close_dialog(request, back)
    context = {"door": door, "choice": choice, "words": WORDS[step], "keys": keys, "back": back}
    return render_dialog(request, DIALOG, context)


DO = {
    Step.CANCEL: operations.cancel,
    Step.HOLD: operations.hold,
    Step.RELEASE: operations.release,
    Step.REQUEUE: operations.requeue,
}


def _tell(request: HttpRequest, choice: Choice) -> None:
    what = f"job {choice.ids[0]}" if len(choice.ids) == 1 else count(len(choice.ids), "job")
    left = f" {count(len(choice.refused), 'job')} left as they were." if choice.refused else ""
    messages.success(request, f"{WORDS[choice.step].done} {what}.{left}")


def _back(request: HttpRequest, door: Door, wanted: str) -> str:
    """Where the dialog was opened; never another site."""
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        return wanted
    return reverse("jobs", args=(door.cluster.team.slug, door.cluster.slug))
