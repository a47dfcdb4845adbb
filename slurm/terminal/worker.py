"""The terminal worker: a unix socket for consumers, and the sessions behind it.

Runs in `manage.py terminals`, one event loop, no threads. Access to the socket is the file system's (the command's
umask leaves no moment without); whoever reaches it is a consumer, which has asked for the person's right before. The
worker itself checks that a session is only shown to the person who opened it. What must outlive it goes to `Journal`.
"""

import asyncio
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

from console.errors import ConsoleError
from slurm.terminal.limits import Limits, due
from slurm.terminal.registry import BEAT_S, Place, Registry
from slurm.terminal.session import Ending, Owner, Session
from slurm.terminal.shell import Target, dial
from slurm.terminal.wire import Decoder, Garbled, Kind, fields, message

log = logging.getLogger(__name__)
MOST_PER_PERSON = 12
LONGEST_PATH = 107
LEAVE_S = 10.0
TICK_S = 1.0


class Journal(Protocol):
    """What outlives the worker: the audit trail. Called from the event loop; must not block it."""

    def opened(self, session: str, owner: Owner) -> None: ...

    def closed(
        self, session: str, owner: Owner, ending: Ending, *, lasted_s: int, bytes_in: int, bytes_out: int
    ) -> None: ...


class Worker:
    """`serve` until `stop`. `path` must be short (LONGEST_PATH bytes: `sun_path` in unix(7))."""

    def __init__(
        self, path: Path, registry: Registry, journal: Journal, limits: Limits | None = None
    ) -> None:
        if len(os.fsencode(path)) > LONGEST_PATH:
            raise ValueError(f"{path} is too long for a unix socket.")
        self.path = path
        self.sessions: dict[str, Session] = {}
        self._registry = registry
        self._journal = journal
        self._limits = limits or Limits()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Blocks until `stop`; then every terminal is told, and the journal has heard of each."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(lambda: Connection(self), str(self.path))
        beats = [
            loop.create_task(self._every(BEAT_S, self._beat)),
            loop.create_task(self._every(TICK_S, self._tick)),
        ]
        log.info("terminals are served at %s", self.path)
        await self._stopping.wait()
        server.close()
        for beat in beats:
            beat.cancel()
        await self._end_all()
        self.path.unlink(missing_ok=True)
        await self._quietly(self._registry.leave(str(self.path)))

    def stop(self) -> None:
        self._stopping.set()

    def spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def open(self, connection: "Connection", asked: Mapping[str, object]) -> Session:
        """Dial and show. Raises what `dial` raises, and Unavailable when the person has too many open."""
        owner = Owner(**asked["owner"])  # type: ignore[arg-type]
        target = Target(**asked["target"])  # type: ignore[arg-type]
        self._make_room(owner)
        loop = asyncio.get_running_loop()
        session = Session(
            secrets.token_urlsafe(18), owner, loop.time(), self._over, loop.call_later, typed=loop.time()
        )
        shell = await dial(target, session, *size(asked))
        session.shell = shell
        if connection.lost:
            session.end(Ending("unseen", "The page was closed while the terminal opened."))
        self.sessions[session.id] = session
        self._journal.opened(session.id, owner)
        await self._quietly(self._registry.beat(str(self.path), [(session.id, self._place(session))]))
        return session

    def find(self, asked: Mapping[str, object]) -> Session | None:
        """The session, for the person who opened it and on the cluster where it is."""
        session = self.sessions.get(str(asked.get("session")))
        if session is None or session.shell is None:
            return None
        same = (session.owner.user, session.owner.cluster) == (asked.get("user"), asked.get("cluster"))
        return session if same else None

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def _make_room(self, owner: Owner) -> None:
        """Of too many terminals of one person, the one that nobody looks at for longest goes."""
        theirs = [s for s in self.sessions.values() if s.owner.user == owner.user]
        if len(theirs) < MOST_PER_PERSON:
            return
        unseen = [s for s in theirs if s.viewer is None]
        if not unseen:
            raise TooMany(
                f"You have {MOST_PER_PERSON} terminals open, which is the most.",
                "Close one in another window.",
            )
        oldest = min(unseen, key=lambda s: s.typed)
        oldest.end(
            Ending("unseen", "Left behind, and ended to make room for a newer terminal of the same person.")
        )

    def _over(self, session: Session, ending: Ending) -> None:
        if self.sessions.pop(session.id, None) is None:
            return
        self._journal.closed(
            session.id,
            session.owner,
            ending,
            lasted_s=round(self.now() - session.opened),
            bytes_in=session.bytes_in,
            bytes_out=session.bytes_out,
        )
        self.spawn(self._quietly(self._registry.forget(session.id)))

    async def _beat(self) -> None:
        held = [(session.id, self._place(session)) for session in self.sessions.values()]
        await self._quietly(self._registry.beat(str(self.path), held))

    async def _tick(self) -> None:
        now = self.now()
        for session in list(self.sessions.values()):
            found = due(self._limits, now=now, opened=session.opened, typed=session.typed)
            if found and found.left_s == 0:
                session.end(Ending(found.code, found.sentence))
            elif found:
                session.warn(found.code, found.sentence, found.left_s)

    async def _every(self, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            await act()
            await asyncio.sleep(seconds)

    async def _quietly(self, call: Awaitable[None]) -> None:
        """Redis may be away: terminals that are open go on, and the next beat says everything again."""
        try:
            await call
        except ConsoleError as error:
            log.warning("%s", error.message)

    async def _end_all(self) -> None:
        for session in list(self.sessions.values()):
            session.end(
                Ending("stopped", "The terminal service was stopped. Open a new terminal when it is back.")
            )
        deadline = self.now() + LEAVE_S
        while (self.sessions or self._tasks) and self.now() < deadline:
            await asyncio.sleep(0.02)

    def _place(self, session: Session) -> Place:
        return Place(str(self.path), session.owner.user, session.owner.cluster)


class TooMany(ConsoleError):
    code = "too-many"
    status = 409


class Connection(asyncio.Protocol):
    """One consumer. Its first frame opens or attaches; a broken one is cut off."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._decoder = Decoder()
        self._session: Session | None = None
        self._asked = False
        self.full = False
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for kind, payload in self._decoder.feed(data):
                self._take(kind, payload)
        except (Garbled, KeyError, TypeError, ValueError) as error:
            log.warning("a terminal connection was cut off: %s", error)
            self._transport.abort()

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False
        if self._session:
            self._session.viewer_drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.full = False
        if self._session:
            self._session.detach(self)

    def send(self, data: bytes) -> None:
        self._transport.write(data)

    def leave(self) -> None:
        self._session = None
        self._transport.close()
        # What is buffered for a consumer that does not read is given up after a while.
        asyncio.get_running_loop().call_later(LEAVE_S, self._transport.abort)

    def _take(self, kind: Kind, payload: bytes) -> None:
        if kind in (Kind.OPEN, Kind.ATTACH):
            self._first(kind, fields(payload))
        elif self._session is None:
            return  # Typed before it was open, or after it ended.
        elif kind == Kind.INPUT:
            self._session.type(payload, self._worker.now())
        elif kind == Kind.RESIZE and self._session.shell:
            self._session.shell.resize(*size(fields(payload)))
        elif kind == Kind.END:
            asked = fields(payload)
            self._session.end(Ending(str(asked["code"]), str(asked["sentence"])))

    def _first(self, kind: Kind, asked: Mapping[str, object]) -> None:
        if self._asked:
            raise Garbled("A second terminal was asked for on one connection.")
        self._asked = True
        if kind == Kind.OPEN:
            self._worker.spawn(self._open(asked))
        else:
            self._attach(asked)

    async def _open(self, asked: Mapping[str, object]) -> None:
        try:
            session = await self._worker.open(self, asked)
        except ConsoleError as error:
            self._refuse(error.code, error.message, error.hint)
            return
        if not self.lost:
            self._session = session
            session.attach(self, fresh=True)

    def _attach(self, asked: Mapping[str, object]) -> None:
        session = self._worker.find(asked)
        if session is None or session.shell is None:
            self._refuse("gone", "The earlier terminal has ended.", "")
            return
        self._session = session
        session.shell.resize(*size(asked))
        seen = asked.get("seen")
        session.attach(self, fresh=False, seen=seen if isinstance(seen, int) else None)

    def _refuse(self, code: str, sentence: str, hint: str) -> None:
        if not self.lost:
            self.send(message(Kind.REFUSED, code=code, sentence=sentence, hint=hint))
            self.leave()


def size(asked: Mapping[str, object]) -> tuple[int, int]:
    """Columns and rows, within what a pty takes and a person can mean. Raises KeyError, TypeError, ValueError."""
    return _within(asked["columns"], 1000), _within(asked["rows"], 500)


def _within(value: object, most: int) -> int:
    return max(1, min(int(str(value)), most))
