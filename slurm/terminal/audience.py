"""Who looks on while a terminal is shared: people with the link, read-only until the owner lets one of them type.

Pure, like the session that it belongs to. The owner never waits for them: who reads too slowly misses what was printed
meanwhile and is shown the screen anew, so that each costs its socket's buffer and no more.
"""

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.errors import ConsoleError
from slurm.terminal.wire import Kind, frame, message

if TYPE_CHECKING:
    from slurm.terminal.session import Viewer

MOST = 8
NOT_SHARED = "This link shows nothing any more: the terminal has ended or is not shared now."


class Crowded(ConsoleError):
    code = "crowded"
    status = 409


@dataclass(frozen=True)
class Person:
    """Who joined. `user` is a primary key."""

    user: int
    who: str
    address: str


@dataclass(eq=False)
class Watcher:
    """`behind` means that something printed was left out for them."""

    person: Person
    viewer: "Viewer"
    writes: bool = False
    behind: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(4))


class Audience:
    """The watchers of one session and the link's token, empty while it is not shared."""

    def __init__(self) -> None:
        self.token = ""
        self.watchers: dict[str, Watcher] = {}

    def open(self) -> None:
        self.token = self.token or secrets.token_urlsafe(18)

    def join(self, person: Person, viewer: "Viewer") -> Watcher:
        """Raises Crowded."""
        if len(self.watchers) >= MOST:
            raise Crowded(
                f"{MOST} people watch this terminal already, which is the most.", "Try again later."
            )
        watcher = Watcher(person, viewer)
        self.watchers[watcher.id] = watcher
        return watcher

    def leave(self, watcher: Watcher) -> bool:
        """Whether they were still here."""
        return self.watchers.pop(watcher.id, None) is not None

    def printed(self, data: bytes) -> None:
        for watcher in self.watchers.values():
            watcher.behind = watcher.behind or watcher.viewer.full
            if not watcher.behind:
                watcher.viewer.send(frame(Kind.OUTPUT, data))

    def say(self, data: bytes) -> None:
        for watcher in self.watchers.values():
            watcher.viewer.send(data)

    def dismiss(self, watcher: Watcher, code: str, sentence: str) -> None:
        """Tell them why, and let go of them."""
        if self.leave(watcher):
            watcher.viewer.send(message(Kind.ENDED, code=code, sentence=sentence, status=None))
            watcher.viewer.leave()

    def close(self, code: str, sentence: str) -> None:
        """Nobody looks on any more, and the link is worth nothing."""
        self.token = ""
        for watcher in list(self.watchers.values()):
            self.dismiss(watcher, code, sentence)

    def facts(self, *, away: bool) -> dict[str, object]:
        """What everybody may know: names, who types, and whether the owner looks at it."""
        found = [{"id": w.id, "who": w.person.who, "writes": w.writes} for w in self.watchers.values()]
        return {"watchers": found, "away": away}
