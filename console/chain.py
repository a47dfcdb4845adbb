"""The audit trail's hash chain: each row's digest covers the row and the digest of the one before. Pure.

HMAC-SHA256 and not the bare hash, because whoever can write the table could make a bare chain anew: the key is sealed
with keys that the database does not hold (`console.secrets`).
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

# What the first row of a chain follows.
START = "0" * 64


@dataclass(frozen=True)
class Link:
    """A row's place: `number` counts from 1 without a gap, the digests are 64 hexadecimal digits."""

    number: int
    previous: str
    digest: str


def link(key: bytes, number: int, previous: str, values: Mapping[str, object]) -> Link:
    """The place of a row that holds `values` (whatever JSON can hold) after the one whose digest is `previous`."""
    text = canonical({"number": number, "previous": previous, "row": values})
    return Link(number, previous, hmac.new(key, text, hashlib.sha256).hexdigest())


def canonical(values: Mapping[str, object]) -> bytes:
    """One spelling for equal values: keys sorted, no blanks, ASCII."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
