"""Whether the audit trail is whole: every chain walked from its first event. Reads only."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.chain import START, link
from console.events import chain_key, values_of
from console.models import Event


@dataclass(frozen=True)
class Chain:
    """`fault` says what is wrong with the first event that does not fit; empty when all do."""

    id: int
    events: int
    digest: str
    fault: str = ""

    @property
    def name(self) -> str:
        return f"team {self.id}" if self.id else "no team"


def verify() -> Iterator[Chain]:
    """Each chain, one after another. Raises Unavailable when the chains' key cannot be opened."""
    key = chain_key()
    for chain in Event.objects.order_by("chain").values_list("chain", flat=True).distinct():
        yield _walk(chain, key)


def _walk(chain: int, key: bytes) -> Chain:
    number, previous = 0, START
    for event in Event.objects.filter(chain=chain).order_by("number").iterator():
        fault = _fault(event, number + 1, previous, key)
        if fault:
            return Chain(chain, number, previous, f"event {event.pk} (number {event.number}): {fault}")
        number, previous = event.number, event.digest
    return Chain(chain, number, previous)


def _fault(event: Event, number: int, previous: str, key: bytes) -> str:
    if event.number != number:
        return f"number {number} should come here: what was before is gone"
    if event.previous != previous:
        return "it does not follow the event before it"
    if event.digest != link(key, number, previous, values_of(event)).digest:
        return "it does not say what was written"
    return ""


def missing_from(sink: Path) -> Iterator[str]:
    """What the sink's file heard last of each chain and the table does not hold: the end of the trail was cut off.

    Raises OSError, and ValueError for a line that is none of ours.
    """
    heard: dict[int, tuple[int, str]] = {}
    with sink.open() as lines:
        for line in lines:
            told = json.loads(line)
            heard[told["chain"]] = max((told["number"], told["digest"]), heard.get(told["chain"], (0, "")))
    for chain, (number, digest) in heard.items():
        if not Event.objects.filter(chain=chain, number=number, digest=digest).exists():
            yield f"the sink heard of number {number} of chain {chain}, which the table does not hold"
