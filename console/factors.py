"""Second factors of a person: the authenticator app, passkeys, and recovery codes for the day when both are lost.

The rows are django-allauth's (https://docs.allauth.org/en/latest/mfa/), their secrets sealed by `console.adapters`.
Which code was good is decided here, in the database: allauth remembers used codes in the cache, which may be away.
Whoever calls an act has made sure that the person is there (`console.admission.confirmed`).
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from console import events, live, secrets
from console.errors import Conflict, Missing, Problem, Rejected
from console.models import User
from console.throttle import CODES

T = TypeVar("T")
APP, PASSKEY, RECOVERY = (
    Authenticator.Type.TOTP,
    Authenticator.Type.WEBAUTHN,
    Authenticator.Type.RECOVERY_CODES,
)
KINDS = {APP: "authenticator app", PASSKEY: "passkey", RECOVERY: "recovery code"}
# Where allauth keeps what it had sealed.
SEALED = {APP: "secret", RECOVERY: "seed"}
OFFERED = "offered-app"


@dataclass(frozen=True)
class Factor:
    pk: int
    name: str
    added_at: datetime
    used_at: datetime | None


@dataclass(frozen=True)
class Factors:
    app: Factor | None
    passkeys: tuple[Factor, ...]
    codes_left: int

    @property
    def are_any(self) -> bool:
        """Recovery codes stand in for a factor and are none."""
        return bool(self.app or self.passkeys)

    @property
    def count(self) -> int:
        return len(self.passkeys) + bool(self.app)


@dataclass(frozen=True)
class AppOffer:
    """What an authenticator app is to be told: `secret` in base32, or all of it as a picture (a data: address)."""

    secret: str
    picture: str


@dataclass(frozen=True)
class SealedRow:
    """A row that holds a sealed secret, locked; for `console.rotation` alone."""

    row: Authenticator

    @property
    def sealed(self) -> str:
        return str(self.row.data[SEALED[self.row.type]])

    def replace(self, sealed: str) -> None:
        self.row.data[SEALED[self.row.type]] = sealed
        self.row.save(update_fields=["data"])

    def __str__(self) -> str:
        return f"{KINDS[self.row.type]} of user {self.row.user_id}"


def has_second_factor(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type__in=[APP, PASSKEY]).exists())


def without_second_factor(people: QuerySet[User]) -> list[User]:
    """Those of `people` who have none."""
    owners = Authenticator.objects.filter(type__in=[APP, PASSKEY]).values("user")
    return list(people.exclude(pk__in=owners))


def factors_of(user: User) -> Factors:
    rows = list(Authenticator.objects.filter(user=user).order_by("created_at"))
    apps = [_factor(row) for row in rows if row.type == APP]
    codes = [row for row in rows if row.type == RECOVERY]
    return Factors(
        app=apps[0] if apps else None,
        passkeys=tuple(_factor(row) for row in rows if row.type == PASSKEY),
        codes_left=len(codes[0].wrap().get_unused_codes()) if codes else 0,
    )


def check_code(user: User, code: str) -> str:
    """What the code is of, in words. Each is good once. Raises Rejected at `code`, and TooMany."""
    CODES.take(str(user.pk))
    with transaction.atomic():
        rows = Authenticator.objects.select_for_update().filter(user=user, type__in=[APP, RECOVERY])
        used = next((row for row in rows if _takes(row, code)), None)
        if used is not None:
            used.record_usage()
    if used is None:
        raise wrong_code()
    CODES.give_back(str(user.pk))
    return KINDS[used.type]


def wrong_code() -> Rejected:
    problem = Problem(
        "code", "That code is not right.", "Each is good once, and one of an app for half a minute."
    )
    return Rejected("The code was refused.", (problem,))


def offer_app(request: HttpRequest, user: User) -> AppOffer:
    """A new secret, kept sealed in the session until a code proves that the person's app has it."""
    secret = totp.generate_totp_secret()
    request.session[OFFERED] = secrets.seal(secret)
    return _offer(user, secret)


def offered_app(request: HttpRequest, user: User) -> AppOffer:
    """The one that was offered last; a new one if there was none."""
    sealed = request.session.get(OFFERED)
    return _offer(user, secrets.unseal(sealed)) if sealed else offer_app(request, user)


def add_app(request: HttpRequest, user: User, code: str) -> list[str]:
    """Take on the offered app. Recovery codes if they are new, else nothing. Raises Rejected at `code`, Conflict."""
    secret = offered_app(request, user).secret
    CODES.take(str(user.pk))
    counter = _counter_of(secret, code)
    if counter is None:
        raise wrong_code()
    CODES.give_back(str(user.pk))

    def act() -> list[str]:
        if Authenticator.objects.filter(user=user, type=APP).exists():
            raise Conflict(
                "You have an authenticator app already.", "Remove it first; your profile lists it."
            )
        row = totp.TOTP.activate(user, secret).instance
        row.data["last_counter"] = counter
        row.save()
        return first_codes(user)

    codes = perform(user, "factor.add", KINDS[APP], act)
    del request.session[OFFERED]
    return codes


def remove_app(user: User) -> None:
    """Raises Missing."""
    _remove(user, Authenticator.objects.filter(user=user, type=APP).first())


def remove_passkey(user: User, pk: int) -> None:
    """Raises Missing."""
    _remove(user, Authenticator.objects.filter(user=user, type=PASSKEY, pk=pk).first())


def new_codes(user: User) -> list[str]:
    """Ten new recovery codes; the old ones are good no more. Raises Conflict for a person without a factor."""

    def act() -> list[str]:
        if not has_second_factor(user):
            raise Conflict(
                "Recovery codes stand in for a second factor, and you have none.", "Set one up first."
            )
        Authenticator.objects.filter(user=user, type=RECOVERY).delete()
        return first_codes(user)

    return perform(user, "factor.codes", "", act)


def reset(user: User, *, by: User) -> None:
    """Take all factors away from somebody who lost them, and sign them out everywhere."""
    with transaction.atomic():
        _lock(user)
        Authenticator.objects.filter(user=user).delete()
        user.browser_sessions.all().delete()
        events.record("factor.reset", by=by, target=user.username)
        live.rights_changed(user.pk)


def sealed_rows() -> list[int]:
    """The keys of all rows that hold a sealed secret."""
    return list(Authenticator.objects.filter(type__in=SEALED).order_by("pk").values_list("pk", flat=True))


def sealed_row(pk: int) -> SealedRow | None:
    """Locks it until the transaction ends."""
    row = Authenticator.objects.select_for_update().filter(pk=pk).first()
    return SealedRow(row) if row else None


def first_codes(user: User) -> list[str]:
    """Recovery codes for a person who has none yet, to be shown this once; none for one who has."""
    if Authenticator.objects.filter(user=user, type=RECOVERY).exists():
        return []
    return list(RecoveryCodes.activate(user).get_unused_codes())


def perform(user: User, verb: str, target: str, act: Callable[[], T]) -> T:
    """One change of a person's factors at a time, with its event. Sockets ask again: a team may require a factor."""
    with transaction.atomic():
        _lock(user)
        done = act()
        events.record(verb, by=user, target=target)
        live.rights_changed(user.pk)
    return done


def _remove(user: User, row: Authenticator | None) -> None:
    if row is None:
        raise Missing("There is no such factor.", "It may be removed already; your profile lists them.")

    def act() -> None:
        row.delete()
        if not has_second_factor(user):
            Authenticator.objects.filter(user=user).delete()

    perform(user, "factor.remove", _name(row), act)


def _lock(user: User) -> None:
    User.objects.select_for_update().get(pk=user.pk)


def _takes(row: Authenticator, code: str) -> bool:
    """Whether the code is one of this row's that was not used yet; marks it used."""
    if row.type == RECOVERY:
        return bool(row.wrap().validate_code(code))
    counter = _counter_of(secrets.unseal(row.data["secret"]), code)
    if counter is None or counter <= row.data.get("last_counter", 0):
        return False
    row.data["last_counter"] = counter
    row.save(update_fields=["data"])
    return True


def _counter_of(secret: str, code: str) -> int | None:
    """The half minute that the code is of (RFC 6238), the one before and the one after included; None of none."""
    for counter in totp.yield_hotp_counters_from_time():
        expected = totp.format_hotp_value(totp.hotp_value(secret, counter))
        if compare_user_code(actual=code, expected=expected):
            return int(counter)
    return None


def _offer(user: User, secret: str) -> AppOffer:
    adapter = get_adapter()
    svg = adapter.build_totp_svg(adapter.build_totp_url(user, secret))
    return AppOffer(secret, f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}")


def _factor(row: Authenticator) -> Factor:
    return Factor(row.pk, _name(row), row.created_at, row.last_used_at)


def _name(row: Authenticator) -> str:
    return str(row.wrap().name) if row.type == PASSKEY else KINDS[row.type]
