"""A person's own page: accounts, limits and how much of them is used, fair share, and why waiting jobs wait.

Operators see the same page of any user. What the last days took is fetched by the page itself: accounting may be slow.
"""

from datetime import UTC, datetime, timedelta

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.lifecycle import Status, Step, refusal
from console.errors import Conflict, ConsoleError, Missing
from console.page import render_page
from console.roles import Action
from slurm.accounts.accounting import user_in
from slurm.accounts.book import NAME, Book
from slurm.accounts.enforcement import Enforcement
from slurm.accounts.standing import slurm_user_of, standing_of
from slurm.accounts.usage import DAYS, Use, days_of
from slurm.client import Slurm
from slurm.views.account_frame import about

MOST_WAITING = 50


@cluster_view(Action.VIEW)
def mine(request: HttpRequest, door: Door) -> HttpResponse:
    context = about(door, "accounting")
    if isinstance(book := context["book"], Book):
        try:
            name, is_shared = slurm_user_of(door, lambda: book)
        except ConsoleError as error:
            return render_page(request, "slurm/usage.html", {**context, "nobody": error})
        context |= _usage(door, book, name, context["enforcement"])
        context |= {"is_shared": is_shared, "days_url": reverse("accounting-days", kwargs=_where(door))}
    return render_page(request, "slurm/usage.html", context)


@cluster_view(Action.VIEW_ACCOUNTS)
def of_user(request: HttpRequest, door: Door, user: str) -> HttpResponse:
    context = about(door, "account-users")
    if isinstance(book := context["book"], Book):
        user_in(book, user)
        context |= _usage(door, book, user, context["enforcement"])
        context["days_url"] = reverse("account-user-days", kwargs={**_where(door), "user": user})
    return render_page(request, "slurm/usage.html", {**context, "user_name": user})


@cluster_view(Action.VIEW)
def my_days(request: HttpRequest, door: Door) -> HttpResponse:
    """A fragment: what one's own jobs took in the last days. Blocks for accounting's answer, 20 s at most."""
    return _days(request, door, "")


@cluster_view(Action.VIEW_ACCOUNTS)
def days_of_user(request: HttpRequest, door: Door, user: str) -> HttpResponse:
    """The same of any user."""
    if not NAME.fullmatch(user):
        raise Missing(f"{door.cluster.slug} has no user {user[:64]} in its accounts.")
    return _days(request, door, user)


def _days(request: HttpRequest, door: Door, user: str) -> HttpResponse:
    context: dict[str, object] = {"door": door, "cluster": door.cluster, "count": DAYS}
    now = datetime.now(UTC)
    try:
        if why := refusal(Status(door.cluster.status), Step.OPERATE):
            raise Conflict(why)
        slurm = Slurm(door.cluster.provisioner.executor())
        name = user or slurm_user_of(door, lambda: slurm.book(slurm.config()["ClusterName"]))[0]
        days = days_of(slurm.history(now - timedelta(days=DAYS), user=name), now)
        context |= {"days": days, "most": max([day.gpu_hours for day in days], default=0)}
        context |= {
            "gpu_hours": sum(day.gpu_hours for day in days),
            "cpu_hours": sum(day.cpu_hours for day in days),
        }
    except ConsoleError as error:
        context["error"] = error
    return render_page(request, "slurm/_usage_days.html", context)


def _usage(door: Door, book: Book, user: str, enforcement: object) -> dict[str, object]:
    assert isinstance(enforcement, Enforcement)
    found = standing_of(door.cluster, book, user, enforcement)
    scopes: dict[str, list[Use]] = {}
    for use in found.uses:
        scopes.setdefault(use.scope, []).append(use)
    return {
        "user_name": user,
        "standings": found.accounts,
        "uses": list(scopes.items()),
        "waiting": found.waiting[:MOST_WAITING],
        "waiting_count": len(found.waiting),
        "most_priority": max([one.ranked.total for one in found.waiting if one.ranked], default=0),
        "problems": found.problems,
        "now": datetime.now(UTC),
    }


def _where(door: Door) -> dict[str, str]:
    return {"team": door.cluster.team.slug, "cluster": door.cluster.slug}
