"""Invitations: a link that lets whoever holds it into a team, once.

A link is worth what its maker may still give when it is used: that of an admin who has left opens nothing. Only its
SHA-256 is kept. It is used by deleting its row under the team's lock, so of two who use it at once one is too late.
"""

import hashlib
import secrets
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from console import events
from console.access import standing_in
from console.errors import Conflict, Missing, Problem, Rejected
from console.models import Invitation, Membership, Team, User
from console.roles import Action, Role, may
from console.team_acts import lock, perform, reaches

PREFIX = "qdi_"
DAYS = 7
MOST_DAYS = 30
MOST_OPEN = 100


def invite(
    role: Role, *, by: Membership, email: str = "", days: int = DAYS, is_mailed: bool = False
) -> tuple[Invitation, str]:
    """A new invitation to the team of `by`, and its token, which is told only here. Raises Forbidden or Conflict."""
    token = PREFIX + secrets.token_urlsafe(32)
    ends = timezone.now() + timedelta(days=min(days, MOST_DAYS))

    def act(asker: Membership) -> Invitation:
        reaches(asker, role)
        asker.team.invitations.filter(expires_at__lte=timezone.now()).delete()
        if asker.team.invitations.count() >= MOST_OPEN:
            raise Conflict(
                f"{MOST_OPEN} invitations are open already.", "Revoke those that nobody waits for."
            )
        return Invitation.objects.create(
            team=asker.team, by=asker.user, role=role, email=email, is_mailed=is_mailed,
            digest=_digest(token), expires_at=ends,
        )  # fmt: skip

    detail = {"role": role, "expires": ends.isoformat(timespec="seconds")}
    return perform("invitation.make", email, by, act, detail), token


def open_in(team: Team) -> QuerySet[Invitation]:
    """Those that can still be used, newest first."""
    return team.invitations.filter(expires_at__gt=timezone.now()).select_related("by").order_by("-pk")


def revoke(number: int, *, by: Membership) -> None:
    """The link opens nothing from now on. Raises Missing, or Forbidden for one to a role above one's own."""
    invitation = invitation_in(by.team, number)

    def act(asker: Membership) -> None:
        found = invitation_in(asker.team, number)
        reaches(asker, Role(found.role))
        found.delete()

    perform("invitation.revoke", invitation.email, by, act, {"role": invitation.role})


def invitation_in(team: Team, number: int) -> Invitation:
    """Raises Missing."""
    found = open_in(team).filter(pk=number).first()
    if found is None:
        raise Missing(
            f"{team.slug} has no open invitation {number}.", "It was used, revoked, or has expired."
        )
    return found


def invitation_of(token: str) -> Invitation:
    """What the link opens. Raises Missing, in the same words whatever is wrong with it."""
    rows = Invitation.objects.select_related("team", "by")
    found = rows.filter(digest=_digest(token), expires_at__gt=timezone.now()).first()
    if found is None or not _is_good(found):
        raise Missing(
            "This invitation is not open.",
            "It was used, revoked, or has expired. Ask whoever sent it for another.",
        )
    return found


def accept(token: str, user: User) -> Membership:
    """Let `user` in, and end the link. Raises Missing, or Conflict for somebody who is in already."""
    with transaction.atomic():
        lock(invitation_of(token).team)
        invitation = invitation_of(token)
        if Membership.objects.filter(team=invitation.team, user=user).exists():
            raise Conflict(
                f"You are in {invitation.team.slug} already.", "The invitation stays open for somebody else."
            )
        invitation.delete()
        made = Membership.objects.create(team=invitation.team, user=user, role=invitation.role)
        detail = {"role": invitation.role, "invited by": invitation.by.username}
        events.record("invitation.accept", by=user, team=invitation.team, target=user.username, detail=detail)
    return made


def accept_as_new(token: str, user: User) -> Membership:
    """Save the new account `user`, its password set, and let it in: both or neither.

    Raises what `accept` does, and Rejected when the name was taken meanwhile.
    """
    try:
        with transaction.atomic():
            invitation = invitation_of(token)
            # Whoever holds a mailed link has read what was sent there.
            user.email = invitation.email if invitation.is_mailed else ""
            user.save()
            return accept(token, user)
    except IntegrityError as error:
        taken = Problem("username", f"There is an account {user.username} already.", "Choose another name.")
        raise Rejected("The account was not made.", (taken,)) from error


def _is_good(invitation: Invitation) -> bool:
    """Whether its maker could still make it."""
    giver = standing_in(invitation.team.slug, invitation.by) if invitation.by.is_active else None
    return (
        giver is not None
        and may(Role(giver.role), Action.CHANGE_MEMBERS)
        and Role(invitation.role).rank <= Role(giver.role).rank
    )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
