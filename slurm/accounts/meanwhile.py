"""Two people at one form: what somebody typed, joined with what others changed since they began. Pure.

A form carries the values that it began with, signed. A field that the person left alone takes the value that there is
now; one that both changed is told at the field, and nothing runs until the form, which then begins anew, is sent again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.core import signing
from django.http import QueryDict

SALT = "accounts-form"
Value = str | bool | list[str]


@dataclass(frozen=True)
class Joined:
    """`data` is what to read the form from; `kept` names fields that others changed and the person did not, `clashes`
    those that both did, with a sentence each."""

    data: QueryDict
    kept: tuple[str, ...] = ()
    clashes: Mapping[str, str] = field(default_factory=dict)


def begun_token(begun: Mapping[str, object]) -> str:
    """To be sent back with the form."""
    return signing.dumps({name: _plain(value) for name, value in begun.items()}, salt=SALT, compress=True)


def join(sent: QueryDict, fields: Iterable[str], now: Mapping[str, object]) -> Joined:
    """Without a token of ours what was sent stands as it is: the commands are looked at before they run."""
    began = _read(sent.get("begun", ""))
    data = sent.copy()
    kept: list[str] = []
    clashes: dict[str, str] = {}
    for name in fields:
        if name not in began or name not in now:
            continue
        before, here = began[name], _plain(now[name])
        typed = _typed(sent, name, before)
        if _same(before, here) or _same(typed, here):
            continue
        if _same(typed, before):
            _put(data, name, here)
            kept.append(name)
        else:
            clashes[name] = (
                f"Somebody else changed this from {_words(before)} to {_words(here)} since you began."
            )
    return Joined(data, tuple(kept), clashes)


def _read(token: str) -> Mapping[str, Value]:
    try:
        found = signing.loads(token, salt=SALT) if token else {}
    except signing.BadSignature:
        return {}
    return found if isinstance(found, dict) else {}


def _plain(value: object) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return "" if value is None else str(value)


def _typed(sent: QueryDict, name: str, like: Value) -> Value:
    if isinstance(like, bool):
        # As a preview carries it on: a hidden field of a box that is not ticked.
        return sent.get(name, "False") not in ("", "False")
    return sent.getlist(name) if isinstance(like, list) else sent.get(name, "").strip()


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return set(one) == set(other)
    return one == other


def _put(data: QueryDict, name: str, value: Value) -> None:
    if isinstance(value, list):
        data.setlist(name, value)
    elif isinstance(value, bool):
        data.setlist(name, ["on"] if value else [])
    else:
        data[name] = value


def _words(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ", ".join(value) if isinstance(value, list) else value
    return f"“{text[:80]}”" if text else "nothing"
