"""Who may do what on a cluster: its People page, and the dialogs that give a role there and take it back."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import grants
from clusters.access import Door, cluster_view
from console.dialog import ProblemForm, form_dialog
from console.forms import RoleForm
from console.members import RoleOffer, member_of
from console.page import render_page
from console.roles import Action, Role


@cluster_view(Action.VIEW_MEMBERS)
def people(request: HttpRequest, door: Door) -> HttpResponse:
    context = {"door": door, "tab": "cluster-people", "rows": grants.people_of(door)}
    return render_page(request, "clusters/people.html", context)


@cluster_view(Action.GRANT_ROLE)
def give(request: HttpRequest, door: Door) -> HttpResponse:
    """`?name=` says to whom."""
    member = member_of(door.membership.team, _name(request))
    before = grants.grant_of(door, member)
    offers = grants.offers(door, member)
    form = RoleForm(request.POST or None, offers=offers, initial={"role": before or _first(offers)})
    context = {"door": door, "member": member, "form": form, "why_not": grants.why_not(door, before)}
    if not offers:
        context["why_not"] = (
            f"{member.user.username} is {member.role} in the whole team: no role adds to that."
        )

    def act() -> None:
        grants.give(door, member.user.username, Role(form.cleaned_data["role"]))

    return _dialog(request, door, "clusters/grant_give.html", form, context, act)


@cluster_view(Action.GRANT_ROLE)
def withdraw(request: HttpRequest, door: Door) -> HttpResponse:
    """`?name=` says from whom."""
    member = member_of(door.membership.team, _name(request))
    before = grants.grant_of(door, member)
    context = {"door": door, "member": member, "granted": before, "why_not": grants.why_not(door, before)}
    return _dialog(
        request, door, "clusters/grant_withdraw.html", None, context,
        lambda: grants.withdraw(door, member.user.username),
    )  # fmt: skip


def _dialog(
    request: HttpRequest,
    door: Door,
    template: str,
    form: ProblemForm | None,
    context: dict[str, object],
    act: Callable[[], None],
) -> HttpResponse:
    """Ends in the list of people."""
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug}
    people = reverse("cluster-people", kwargs=where)

    def then() -> str:
        act()
        return people

    return form_dialog(request, template, {"back": people, **context}, form, then)


def _first(offers: list[RoleOffer]) -> Role | None:
    return offers[0].role if offers else None


def _name(request: HttpRequest) -> str:
    return request.POST.get("member") or request.GET.get("name", "")
