"""What somebody was shown before they said yes, carried by their form or script, and held against what is so by then.

A token is the impact itself, signed: it needs no table, may be left out, and means nothing to who did not ask for it.
"""

from dataclasses import replace

import msgspec
from django.core import signing

from clusters.impact import Impact, from_json, growth, to_json
from console.errors import Conflict

SALT = "impact"


class Grown(Conflict):
    """More jobs would end, more would restart or more files would go than the person has seen."""

    code = "impact-grew"

    def __init__(self, sentences: tuple[str, ...]) -> None:
        super().__init__(
            f"It would cost more by now: {' '.join(sentences)}", "Look at it again, then confirm."
        )
        self.sentences = sentences


def token_of(impact: Impact) -> str:
    """Without what has no bearing on whether it grew."""
    costs = replace(impact, jobs=(*impact.stopped, *impact.dropped), machines={}, problem="", as_of=None)
    return signing.dumps(to_json(costs), salt=SALT, compress=True)


def keep(token: str, now: Impact) -> None:
    """Raise Grown if `now` costs more than the token promised; without one of ours nothing was promised."""
    promised = _read(token)
    if promised is not None and (more := growth(promised, now)):
        raise Grown(more)


def is_ours(token: str) -> bool:
    """Whether it can be read: not cut off, and made by this console."""
    return _read(token) is not None


def _read(token: str) -> Impact | None:
    try:
        return from_json(signing.loads(token, salt=SALT)) if token else None
    except (signing.BadSignature, msgspec.ValidationError):
        return None
