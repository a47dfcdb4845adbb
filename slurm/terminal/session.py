"""One terminal: a shell, what it printed last, and the page that looks at it, if any.

Lives in the worker, knows neither sockets nor clocks: a `Viewer` takes frames, times are handed in. Bounded on both
sides: output goes to the viewer until it is full and then the shell is not read; typed bytes are credit given by
TAKEN frames and more of them than `WINDOW` is a fault of the other side.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from slurm.terminal.ring import Ring
from slurm.terminal.shell import Exit, Shell
from slurm.terminal.wire import WINDOW, Garbled, Kind, frame, message

# A terminal that nobody looks at is read this much at a time and then rests, so that a forgotten `yes` costs little.
UNSEEN_BYTES = 256 * 1024
UNSEEN_REST_S = 0.25

Later = Callable[[float, Callable[[], None]], object]


class Viewer(Protocol):
    """The consumer's end of one connection."""

    @property
    def full(self) -> bool: ...

    def send(self, data: bytes) -> None: ...

    def leave(self) -> None:
        """Send what is buffered, then close."""
        ...


@dataclass(frozen=True)
class Owner:
    """Whose terminal this is, and what the audit needs to know. `user` and `team` are primary keys."""

    user: int
    who: str
    team: int
    cluster: str
    cluster_slug: str
    address: str


@dataclass(frozen=True)
class Ending:
    """Why a terminal ended: `exit`, `lost`, `idle`, `absolute`, `revoked`, `stopped` or `unseen`."""

    code: str
    sentence: str
    status: int | None = None


@dataclass
class Session:
    """`over` is called once, with the ending; `later` is the event loop's `call_later`."""

    id: str
    owner: Owner
    opened: float
    over: Callable[["Session", Ending], None]
    later: Later
    typed: float = 0.0
    viewer: Viewer | None = None
    shell: Shell | None = None
    bytes_out: int = 0
    bytes_in: int = 0
    warned: str = ""
    ring: Ring = field(default_factory=Ring)
    _unseen: int = 0
    _owed: int = 0
    _ending: Ending | None = None

    def printed(self, data: bytes) -> None:
        self.bytes_out += len(data)
        self.ring.add(data)
        if self.viewer is None:
            self._rest(len(data))
            return
        self.viewer.send(frame(Kind.OUTPUT, data))
        if self.viewer.full and self.shell:
            self.shell.pause()

    def writable(self) -> None:
        self._give_back(self._owed)

    def ended(self, exit: Exit) -> None:
        self.shell = None
        ending = self._ending or Ending("lost" if exit.status is None else "exit", exit.sentence, exit.status)
        self._say(message(Kind.ENDED, code=ending.code, sentence=ending.sentence, status=ending.status))
        viewer, self.viewer = self.viewer, None
        if viewer:
            viewer.leave()
        self.over(self, ending)

    def end(self, ending: Ending) -> None:
        """Hang up. `over` follows when the connection has closed; a second call changes nothing."""
        if self._ending is None and self.shell:
            self._ending = ending
            self.shell.close()

    def attach(self, viewer: Viewer, *, fresh: bool, seen: int | None = None) -> None:
        """Show it to `viewer` from now on. An earlier viewer is told and left.

        A page that kept its screen says how many bytes it has `seen` and gets what it missed; another, or one that
        missed too much, gets what was printed last as a `whole`, for a screen that it resets before.
        """
        self._leave(message(Kind.ENDED, code="taken", sentence="This terminal was opened in another window."))
        self.viewer = viewer
        missed = None if seen is None else self.ring.since(seen)
        replay = self.ring.replay() if missed is None else missed
        facts = {"fresh": fresh, "whole": missed is None, "replay": len(replay), "total": self.ring.total}
        viewer.send(message(Kind.READY, session=self.id, **facts))
        if replay:
            viewer.send(frame(Kind.OUTPUT, replay))
        self.warned = ""
        self.viewer_drained()

    def detach(self, viewer: Viewer) -> None:
        """The viewer went away; the shell goes on. Nothing happens when another one has taken over."""
        if self.viewer is viewer:
            self.viewer = None
            self.viewer_drained()

    def viewer_drained(self) -> None:
        if self.shell and not (self.viewer and self.viewer.full):
            self.shell.resume()

    def type(self, data: bytes, now: float) -> None:
        """Bytes from the keyboard. Raises Garbled when more are under way than was agreed."""
        if self.shell is None:
            return
        self.typed = now
        self.warned = ""
        self.bytes_in += len(data)
        self._owed += len(data)
        if self._owed > 2 * WINDOW:
            raise Garbled("More was typed than the terminal can take.")
        self.shell.write(data)
        if not self.shell.full:
            self._give_back(self._owed)

    def warn(self, code: str, sentence: str, left_s: int) -> None:
        """Tell the viewer, once for each reason until a key is typed or somebody attaches."""
        if self.warned != code and self.viewer:
            self.warned = code
            self._say(message(Kind.NOTICE, code=code, sentence=sentence, left_s=left_s))

    def _give_back(self, count: int) -> None:
        if count:
            self._owed -= count
            self._say(message(Kind.TAKEN, bytes=count))

    def _say(self, data: bytes) -> None:
        if self.viewer:
            self.viewer.send(data)

    def _leave(self, words: bytes) -> None:
        if self.viewer:
            self.viewer.send(words)
            self.viewer.leave()
            self.viewer = None

    def _rest(self, count: int) -> None:
        self._unseen += count
        if self._unseen >= UNSEEN_BYTES and self.shell:
            self._unseen = 0
            self.shell.pause()
            self.later(UNSEEN_REST_S, self.viewer_drained)
