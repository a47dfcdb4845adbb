"""Sealing every secret anew under the newest key, one row at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction

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


def _turn(secret: Secret) -> Turn:
    newest, *older = (Fernet(key) for key in settings.SEALING_KEYS)
    sealed = bytes(secret.sealed)
    if _opens(newest, sealed):
        return Turn.KEPT
    try:
        secret.sealed = MultiFernet([newest, *older]).rotate(sealed)
    except InvalidToken:
        return Turn.LOST
    secret.save(update_fields=["sealed"])
    return Turn.RESEALED


def _opens(key: Fernet, sealed: bytes) -> bool:
    try:
        key.decrypt(sealed)
    except InvalidToken:
        return False
    return True
