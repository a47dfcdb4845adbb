"""A watch: what happens to the objects of one kind, as it happens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from console.errors import Unavailable
from slurm.kube.errors import Asked, refusal
from slurm.kube.kinds import Thing
from slurm.kube.wire import Lines


@dataclass(frozen=True)
class Seen:
    """One event. BOOKMARK carries nothing but `metadata.resourceVersion`."""

    type: str  # ADDED, MODIFIED, DELETED, BOOKMARK
    thing: Thing


class _Event(msgspec.Struct):
    type: str
    object: dict[str, Any]  # any object of the API, or a Status


class Watch:
    """Iterates until the server ends it. `close` may be called from another thread and ends it, too."""

    def __init__(self, asked: Asked, lines: Lines) -> None:
        self._asked, self._lines = asked, lines
        self._decoder = msgspec.json.Decoder(_Event)

    def __iter__(self) -> Iterator[Seen]:
        """Raises Gone when the version to start from is too old, Unavailable when the connection breaks or is
        silent."""
        for line in self._lines:
            event = self._decoded(line)
            if event.type == "ERROR":
                raise refusal(
                    self._asked, int(event.object.get("code", 500)), msgspec.json.encode(event.object)
                )
            yield Seen(event.type, event.object)

    def close(self) -> None:
        self._lines.close()

    def _decoded(self, line: bytes) -> _Event:
        try:
            return self._decoder.decode(line)
        except msgspec.DecodeError as error:
            raise Unavailable(f"Could not {self._asked.words}: the answer could not be read.") from error
