"""Passwords: signing in with one, and what follows from a new one. Django's forms and hashers check them."""

from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.forms import PasswordChangeForm
from django.db import transaction
from django.http import HttpRequest

from console import events, live, refusals
from console.errors import Problem, Rejected
from console.models import User
from console.throttle import ACCOUNT, ADDRESS, address_of


class PasswordBackend(ModelBackend):
    """Django's, with a limit on wrong passwords for each name and each address, for every form that signs in.

    Taken before the look and given back after a right password, so that attempts at once do not slip by. An unknown
    name costs the same Argon2 hash as a known one (ModelBackend), and the limit holds for both alike.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: object,
    ) -> User | None:
        if username is None or password is None:
            return None
        limits = [(ACCOUNT, username), (ADDRESS, address_of(request))]
        for limit, whose in limits:
            limit.take(whose)
        user = super().authenticate(request, username, password, **kwargs)
        if user is None:
            named = None if "\0" in username else User.objects.filter(username=username).first()
            why = "Wrong password." if named is None or named.is_active else "The account is closed."
            refusals.note_sign_in(named, "password", why)
            return None
        for limit, whose in limits:
            limit.give_back(whose)
        assert isinstance(user, User), "AUTH_USER_MODEL says so"
        return user


def check_password(request: HttpRequest, user: User, password: str) -> None:
    """Whether the person who is signed in knows it. Counts and is written down like signing in. Raises Rejected at
    `password`, and TooMany.
    """
    if authenticate(request, username=user.username, password=password) != user:
        raise Rejected("The password was refused.", (Problem("password", "That is not your password."),))


def change_password(request: HttpRequest, user: User, form: PasswordChangeForm) -> None:
    """Save the valid form's password. Every other session of the person ends.

    Their terminals ask again at once, so those of an ended session close.
    """
    with transaction.atomic():
        form.save()
        update_session_auth_hash(request, user)
        user.browser_sessions.exclude(session_key=request.session.session_key).delete()
        events.record("password.change", by=user)
        live.rights_changed(user.pk)
