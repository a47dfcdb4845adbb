"""The people of a team: the list, and the dialogs that add one, change a role, remove one, leave and hand over."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.access import standing_in, team_view
from console.access import why_not as why_lacking
from console.dialog import ProblemForm, form_dialog
from console.forms import AddMemberForm, HandoverForm, RoleForm, SlurmUsersForm
from console.invitations import open_in
from console.members import (
    add,
    change_role,
    hand_over,
    heirs,
    leave,
    link_slurm_users,
    member_of,
    offers,
    remove,
    why_not,
    why_not_hand_over,
    why_not_leave,
)
from console.models import Membership
from console.page import render_page
from console.roles import Action, Role, may


@dataclass(frozen=True)
class Row:
    """`why_not` is a sentence when the person may neither change nor remove this member."""

    member: Membership
    is_you: bool
    why_not: str


@team_view(Action.VIEW_MEMBERS)
def members(request: HttpRequest, membership: Membership) -> HttpResponse:
    listed = Membership.objects.filter(team=membership.team).select_related("team", "user")
    people = sorted(listed, key=lambda one: (-Role(one.role).rank, one.user.username))
    rows = [Row(one, one.pk == membership.pk, why_not(one, by=membership)) for one in people]
    can_change = may(Role(membership.role), Action.CHANGE_MEMBERS)
    context = {
        "team": membership.team,
        "rows": rows,
        "can_change": can_change,
        "why_not_change": why_lacking(membership, Action.CHANGE_MEMBERS),
        "why_not_leave": why_not_leave(membership),
        "why_not_hand_over": why_not_hand_over(membership),
        "invitations": open_in(membership.team) if can_change else (),
        "can_change_policy": may(Role(membership.role), Action.CHANGE_POLICY),
        "why_not_change_policy": why_lacking(membership, Action.CHANGE_POLICY),
    }
    return render_page(request, "console/members.html", context)


@team_view(Action.CHANGE_MEMBERS)
def add_member(request: HttpRequest, membership: Membership) -> HttpResponse:
    offered = offers(membership)
    form = AddMemberForm(request.POST or None, offers=offered, initial={"role": Role.VIEWER})
    context: dict[str, object] = {"team": membership.team, "form": form}

    def act() -> None:
        add(form.cleaned_data["name"], Role(form.cleaned_data["role"]), by=membership)

    return _dialog(request, membership, "console/member_add.html", form, context, act)


@team_view(Action.CHANGE_MEMBERS)
def member_role(request: HttpRequest, membership: Membership) -> HttpResponse:
    """`?name=` says whose."""
    member = member_of(membership.team, _name(request))
    form = RoleForm(request.POST or None, offers=offers(membership), initial={"role": member.role})
    context = {"team": membership.team, "form": form, **_about(member, membership)}

    def act() -> None:
        change_role(member.user.username, Role(form.cleaned_data["role"]), by=membership)

    return _dialog(request, membership, "console/member_role.html", form, context, act)


@team_view(Action.CHANGE_MEMBERS)
def member_removal(request: HttpRequest, membership: Membership) -> HttpResponse:
    """`?name=` says whose."""
    member = member_of(membership.team, _name(request))
    context = {"team": membership.team, **_about(member, membership)}
    return _dialog(
        request,
        membership,
        "console/member_removal.html",
        None,
        context,
        lambda: remove(member.user.username, by=membership),
    )


@team_view(Action.CHANGE_MEMBERS)
def slurm_users(request: HttpRequest, membership: Membership) -> HttpResponse:
    """`?name=` says whose."""
    member = member_of(membership.team, _name(request))
    form = SlurmUsersForm(request.POST or None, initial={"slurm_users": member.slurm_users})
    context = {"team": membership.team, "form": form, **_about(member, membership)}

    def act() -> None:
        link_slurm_users(member.user.username, form.cleaned_data["slurm_users"].split(), by=membership)

    return _dialog(request, membership, "console/slurm_users.html", form, context, act)


@team_view(Action.LEAVE_TEAM)
def leaving(request: HttpRequest, membership: Membership) -> HttpResponse:
    context = {"team": membership.team, "is_you": True, "why_not": why_not_leave(membership)}
    return _dialog(
        request, membership, "console/member_removal.html", None, context, lambda: leave(by=membership)
    )


@team_view(Action.CHANGE_OWNER)
def ownership(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = HandoverForm(request.POST or None, names=heirs(membership))
    context = {"team": membership.team, "form": form, "why_not": why_not_hand_over(membership)}

    def act() -> None:
        hand_over(form.cleaned_data["name"], by=membership)

    return _dialog(request, membership, "console/ownership.html", form, context, act)


def _dialog(
    request: HttpRequest,
    membership: Membership,
    template: str,
    form: ProblemForm | None,
    context: dict[str, object],
    act: Callable[[], None],
) -> HttpResponse:
    """Ends in the list of people, unless whoever acted is no longer one of them."""
    people = reverse("members", kwargs={"team": membership.team.slug})

    def then() -> str:
        act()
        is_gone = standing_in(membership.team.slug, membership.user) is None
        return reverse("home") if is_gone else people

    return form_dialog(request, template, {"back": people, **context}, form, then)


def _name(request: HttpRequest) -> str:
    return request.POST.get("member") or request.GET.get("name", "")


def _about(member: Membership, by: Membership) -> dict[str, object]:
    return {"member": member, "is_you": member.pk == by.pk, "why_not": why_not(member, by=by)}
