"""Sealing: secrets at rest, opened as late as possible.

Values are sealed with Fernet (AES-128-CBC and HMAC-SHA256) under the newest of `settings.SEALING_KEYS` and opened with
any of them, so that keys rotate without a stop. Opened values are never logged and never put into an error.
"""

import hashlib
from collections.abc import Callable

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from console.errors import Missing, Unavailable
from console.models import Secret


def _box() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.SEALING_KEYS])


def put(owner: str, kind: str, value: bytes) -> None:
    """Seal and keep; replaces what was there."""
    Secret.objects.update_or_create(owner=owner, kind=kind, defaults={"sealed": _box().encrypt(value)})


def get_or_make(owner: str, kind: str, make: Callable[[], bytes]) -> bytes:
    """Open; if there is none yet, keep what `make` gives. Of two callers at once both get the one that was kept."""
    try:
        return get(owner, kind)
    except Missing:
        Secret.objects.get_or_create(owner=owner, kind=kind, defaults={"sealed": _box().encrypt(make())})
        return get(owner, kind)


def get(owner: str, kind: str) -> bytes:
    """Open. Raises Missing when there is none, Unavailable when no key at hand opens it."""
    secret = Secret.objects.filter(owner=owner, kind=kind).first()
    if secret is None:
        raise Missing(f"There is no {kind} of {owner}.")
    try:
        return _box().decrypt(bytes(secret.sealed))
    except InvalidToken as error:
        raise Unavailable(
            f"The {kind} of {owner} cannot be opened.",
            "The sealing keys are not those it was sealed with: a restored backup or a lost key file.",
        ) from error


def has(owner: str, kind: str) -> bool:
    """Whether there is one, opened or not."""
    return Secret.objects.filter(owner=owner, kind=kind).exists()


def mark(owner: str, kind: str) -> bytes:
    """What stands for the value without opening it: another value has another mark, and so has the same one sealed
    anew. Raises Missing."""
    sealed = Secret.objects.filter(owner=owner, kind=kind).values_list("sealed", flat=True).first()
    if sealed is None:
        raise Missing(f"There is no {kind} of {owner}.")
    return hashlib.sha256(sealed).digest()


def seal(value: str) -> str:
    """For a column of its own that is text: `console.rotation` must know it, or the next rotation loses it."""
    return _box().encrypt(value.encode()).decode()


def unseal(sealed: str) -> str:
    """What `seal` made. Raises Unavailable when no key at hand opens it."""
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise Unavailable(
            "A sealed value cannot be opened.",
            "The sealing keys are not those it was sealed with: a restored backup or a lost key file.",
        ) from error


def drop(owner: str) -> None:
    """Forget everything of `owner`."""
    Secret.objects.filter(owner=owner).delete()
