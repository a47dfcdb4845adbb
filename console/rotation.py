"""Sealing every secret anew under the newest key, one row at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction

from console import factors
from console.models import Secret


class Turn(StrEnum):
    """What became of one secret."""

    RESEALED = "sealed anew"
    KEPT = "under the newest key already"
    LOST = "cannot be opened with any key at hand"


@dataclass(frozen=True)
class Turned:
    secret: str
    turn: Turn


def rotate() -> Iterator[Turned]:
    """Each secret in turn, each in a transaction of its own: stopped anywhere, what is done is done.

    Idempotent. A secret that is replaced or dropped meanwhile is not touched.
    """
    for pk in Secret.objects.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            secret = Secret.objects.select_for_update().filter(pk=pk).first()
            turned = Turned(str(secret), _turn(secret)) if secret else None
        if turned:
            yield turned
    for pk in factors.sealed_rows():
        with transaction.atomic():
            row = factors.sealed_row(pk)
            turned = Turned(str(row), _turn_factor(row)) if row else None
        if turned:
            yield turned


def _turn(secret: Secret) -> Turn:
    turn, sealed = _resealed(bytes(secret.sealed))
    if turn is Turn.RESEALED:
        secret.sealed = sealed
        secret.save(update_fields=["sealed"])
    return turn


def _turn_factor(row: factors.SealedRow) -> Turn:
    turn, sealed = _resealed(row.sealed.encode())
    if turn is Turn.RESEALED:
        row.replace(sealed.decode())
    return turn


def _resealed(sealed: bytes) -> tuple[Turn, bytes]:
    """What is to become of the sealed value, and what it is afterwards."""
    newest, *older = (Fernet(key) for key in settings.SEALING_KEYS)
    if _opens(newest, sealed):
        return Turn.KEPT, sealed
    try:
        return Turn.RESEALED, MultiFernet([newest, *older]).rotate(sealed)
    except InvalidToken:
        return Turn.LOST, sealed


def _opens(key: Fernet, sealed: bytes) -> bool:
    try:
        key.decrypt(sealed)
    except InvalidToken:
        return False
    return True
