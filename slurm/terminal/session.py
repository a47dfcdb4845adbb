"""One terminal: a shell, what it printed last, the page that looks at it, if any, and those whom it is shared with.

Lives in the worker, knows neither sockets nor clocks: a `Viewer` takes frames, times are handed in. Bounded on both
sides: output goes to the viewer until it is full and then the shell is not read; typed bytes are credit given by
TAKEN frames and more of them than `WINDOW` is a fault of the other side.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from slurm.terminal.audience import Audience, Person, Watcher
from slurm.terminal.limits import Due
from slurm.terminal.recorder import Recorder
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
    """Whose terminal this is, and what the audit needs to know. `user` and `team` are primary keys; `login` is who they
    are on the login node where the cluster has login users, else empty."""

    user: int
    who: str
    team: int
    cluster: str
    cluster_slug: str
    address: str
    login: str = ""


@dataclass(frozen=True)
class Ending:
    """Why a terminal ended: `exit`, `lost`, `idle`, `absolute`, `revoked`, `closed`, `recording`, `stopped` or
    `unseen`."""

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
    columns: int = 80
    rows: int = 24
    ring: Ring = field(default_factory=Ring)
    audience: Audience = field(default_factory=Audience)
    recorder: Recorder | None = None
    _unseen: int = 0
    _owed: dict[Viewer, int] = field(default_factory=dict)
    _ending: Ending | None = None

    def printed(self, data: bytes) -> None:
        self.bytes_out += len(data)
        self.ring.add(data)
        self.audience.printed(data)
        if self.recorder:
            self.recorder.printed(data)
        if self.viewer:
            self.viewer.send(frame(Kind.OUTPUT, data))
        else:
            self._rest(len(data))
        if self._is_held and self.shell:
            self.shell.pause()

    def writable(self) -> None:
        """Everybody's credit comes back."""
        owed, self._owed = self._owed, {}
        for viewer, count in owed.items():
            viewer.send(message(Kind.TAKEN, bytes=count))

    def ended(self, exit: Exit) -> None:
        self.shell = None
        ending = self._ending or Ending("lost" if exit.status is None else "exit", exit.sentence, exit.status)
        self._leave(message(Kind.ENDED, code=ending.code, sentence=ending.sentence, status=ending.status))
        self.audience.close(ending.code, ending.sentence)
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
        self._show(viewer, missed, session=self.id, fresh=fresh)
        self.warned = ""
        self.tell_watchers()
        self.viewer_drained()

    def detach(self, viewer: Viewer) -> None:
        """The viewer went away; the shell goes on. Nothing happens when another one has taken over."""
        self._owed.pop(viewer, None)
        if self.viewer is viewer:
            self.viewer = None
            self.tell_watchers()
            self.viewer_drained()

    def viewer_drained(self) -> None:
        if self.shell and not self._is_held:
            self.shell.resume()

    @property
    def _is_held(self) -> bool:
        """Whether the shell may not be read now: its page or its recording has enough."""
        return bool(self.viewer and self.viewer.full) or bool(self.recorder and self.recorder.full)

    def join(self, person: Person, viewer: Viewer) -> Watcher:
        """Somebody came by the link. Raises Crowded."""
        watcher = self.audience.join(person, viewer)
        self._show(viewer, None, session="", fresh=False)
        self.tell_watchers()
        return watcher

    def part(self, watcher: Watcher) -> bool:
        """They went away; False when they had been let go before."""
        self._owed.pop(watcher.viewer, None)
        was_here = self.audience.leave(watcher)
        if was_here:
            self.tell_watchers()
        return was_here

    def watcher_drained(self, watcher: Watcher) -> None:
        if watcher.behind:
            watcher.behind = False
            self._show(watcher.viewer, None, session="", fresh=False)

    def tell_watchers(self) -> None:
        """Everybody who looks on hears who does; the owner also the link's token."""
        facts = self.audience.facts(away=self.viewer is None)
        self._say(message(Kind.WATCHERS, token=self.audience.token, **facts))
        for watcher in self.audience.watchers.values():
            watcher.viewer.send(message(Kind.WATCHERS, owner=self.owner.who, you=watcher.id, **facts))

    def resize(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        if self.shell:
            self.shell.resize(columns, rows)
        if self.recorder:
            self.recorder.resized(columns, rows)
        self.audience.say(self._size())

    def type(self, data: bytes, now: float, viewer: Viewer) -> None:
        """Bytes from a keyboard. Raises Garbled when more are under way than was agreed."""
        if self.shell is None:
            return
        self.typed = now
        self.bytes_in += len(data)
        self._owed[viewer] = self._owed.get(viewer, 0) + len(data)
        if self._owed[viewer] > 2 * WINDOW:
            raise Garbled("More was typed than the terminal can take.")
        self.shell.write(data)
        if not self.shell.full:
            self.writable()

    def type_by(self, watcher: Watcher, data: bytes, now: float) -> None:
        """Goes to the shell while the owner lets them and looks on; what else they type is lost, as they are told."""
        if watcher.writes and self.viewer is not None:
            self.type(data, now, watcher.viewer)
        else:
            watcher.viewer.send(message(Kind.TAKEN, bytes=len(data)))

    def warn(self, due: Due | None) -> None:
        """Tell the viewer which end is near, once; None takes back what was said, as after a key."""
        code = due.code if due else ""
        if self.warned == code or not self.viewer:
            return
        self.warned = code
        facts = {"sentence": due.sentence, "left_s": due.left_s} if due else {"sentence": "", "left_s": 0}
        self._say(message(Kind.NOTICE, code=code, **facts))

    def _show(self, viewer: Viewer, missed: bytes | None, *, session: str, fresh: bool) -> None:
        """What `viewer` needs to look like the others: the bytes that it missed, or all that are kept."""
        replay = self.ring.replay() if missed is None else missed
        facts = {"fresh": fresh, "whole": missed is None, "replay": len(replay), "total": self.ring.total}
        facts["recorded"] = self.recorder is not None
        viewer.send(message(Kind.READY, session=session, **facts))
        if viewer is not self.viewer:
            viewer.send(self._size())
        if replay:
            viewer.send(frame(Kind.OUTPUT, replay))

    def _size(self) -> bytes:
        return message(Kind.SIZE, columns=self.columns, rows=self.rows)

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
