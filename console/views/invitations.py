"""Invitations into a team: the dialogs that make and revoke one, and the page that its link opens."""

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from console import mail
from console.access import PUBLIC, declares, team_view
from console.admission import enter
from console.dialog import form_dialog
from console.errors import ConsoleError, Rejected, Unavailable
from console.forms import AccountForm, InvitationForm
from console.invitations import accept, accept_as_new, invitation_in, invitation_of, invite, revoke
from console.members import offers
from console.models import Invitation, Membership, User
from console.page import render_dialog, render_page
from console.roles import Action, Role
from console.throttle import INVITATIONS, address_of


@team_view(Action.CHANGE_MEMBERS)
def new_invitation(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The answer to the POST is the only place that ever shows the link, unless it was mailed."""
    form = InvitationForm(request.POST or None, offers=offers(membership), initial={"role": Role.VIEWER})
    context: dict[str, object] = {"team": membership.team, "form": form, "back": _people(membership)}
    if request.method != "POST":
        return render_dialog(request, "console/invitation_new.html", context)
    if not form.is_valid():
        return render_dialog(request, "console/invitation_new.html", context, status=422)
    role, email, days = Role(form.cleaned_data["role"]), form.cleaned_data["email"], form.cleaned_data["days"]
    try:
        is_mailed = bool(email) and mail.is_set_up()
        invitation, token = invite(role, by=membership, email=email, days=days, is_mailed=is_mailed)
    except ConsoleError as error:
        context["error"] = error
        return render_dialog(request, "console/invitation_new.html", context, status=error.status)
    context |= {"invitation": invitation, "link": _link(request, token)}
    if is_mailed:
        context |= _sent(invitation, str(context["link"]))
    response = render_dialog(request, "console/invitation_made.html", context, status=201)
    response.headers["Cache-Control"] = "no-store"
    return response


@team_view(Action.CHANGE_MEMBERS)
def invitation_revocation(request: HttpRequest, membership: Membership, number: int) -> HttpResponse:
    context: dict[str, object] = {"back": _people(membership), "team": membership.team}
    context["invitation"] = invitation_in(membership.team, number)

    def act() -> str:
        revoke(number, by=membership)
        return _people(membership)

    return form_dialog(request, "console/invitation_revocation.html", context, None, act)


@declares(PUBLIC)
@login_not_required
@sensitive_post_parameters()
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """What the link opens: joining as oneself, or making an account. Nobody but its holder learns of it."""
    try:
        found = invitation_of(token)
    except ConsoleError:
        # Whoever guesses is slowed down; one who has a link is not.
        INVITATIONS.take(address_of(request))
        raise
    user = request.user if isinstance(request.user, User) else None
    form = AccountForm(request.POST if request.method == "POST" and user is None else None)
    context: dict[str, object] = {"invitation": found, "form": form, "token": token}
    status = 200
    if request.method == "POST" and (user is not None or form.is_valid()):
        try:
            return _joined(request, token, user, form)
        except Rejected as error:
            for problem in error.problems:
                form.add_error(problem.path, f"{problem.message} {problem.hint}")
        except ConsoleError as error:
            context["error"], status = error, error.status
    response = render_page(request, "console/invitation.html", context, status=422 if form.errors else status)
    # The address is the secret: it is sent to nobody and kept nowhere.
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cache-Control"] = "no-store"
    return response


def _joined(request: HttpRequest, token: str, user: User | None, form: AccountForm) -> HttpResponse:
    if user is None:
        made = accept_as_new(token, form.save(commit=False))
        enter(request, made.user, how="a new account")
    else:
        made = accept(token, user)
    messages.success(request, f"Welcome to {made.team.slug}: you are {made.role} here.")
    return redirect("clusters", team=made.team.slug)


def _sent(invitation: Invitation, link: str) -> dict[str, object]:
    """Mail the link. Where the mail server fails the page shows the link after all, and why."""
    team = invitation.team.slug
    text = (
        f"{invitation.by.get_full_name() or invitation.by.username} invites you to team {team} in Quarterdeck, "
        f"as {invitation.role}.\n\nOpen this link to join. It works once, until "
        f"{invitation.expires_at:%Y-%m-%d %H:%M} UTC:\n\n{link}\n"
    )
    try:
        mail.send(invitation.email, f"Invitation to team {team} in Quarterdeck", text)
    except Unavailable as error:
        # Nobody read it at that address, so it proves nothing about who comes with it.
        Invitation.objects.filter(pk=invitation.pk).update(is_mailed=False)
        return {"error": error}
    return {"link": ""}


def _link(request: HttpRequest, token: str) -> str:
    return request.build_absolute_uri(reverse("invitation", kwargs={"token": token}))


def _people(membership: Membership) -> str:
    return reverse("members", kwargs={"team": membership.team.slug})
