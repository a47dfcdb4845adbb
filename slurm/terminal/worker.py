"""The terminal worker: an address for consumers (`reach`), and the sessions behind it.

Runs in `manage.py terminals`, one event loop, no threads. Access to a socket is the file system's (the command's
umask leaves no moment without); whoever gets through is a consumer, which has asked for the person's right before. The
worker itself checks that a session is only shown to the person who opened it. What must outlive it goes to `Journal`.
"""

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Set
from typing import Protocol

from console.errors import ConsoleError
from slurm.terminal import reach
from slurm.terminal.audience import Person
from slurm.terminal.connection import Connection, size
from slurm.terminal.limits import MOST_PER_PERSON, Limits, due
from slurm.terminal.recorder import Begun, Recorded, Recorder, Store
from slurm.terminal.registry import BEAT_S, Place, Registry
from slurm.terminal.session import Ending, Owner, Session
from slurm.terminal.shell import dial
from slurm.terminal.ssh import Target

log = logging.getLogger(__name__)
LEAVE_S = 10.0
TICK_S = 1.0
# With the question itself, less than five seconds.
ASK_S = 4.0


class Journal(Protocol):
    """What outlives the worker: audit trail and rows of recordings. Called from the event loop; must not block it."""

    def opened(self, session: str, owner: Owner, recording: Begun | None) -> None: ...

    def noted(
        self, session: str, owner: Owner, verb: str, by: Person | None, detail: Mapping[str, object]
    ) -> None:
        """Something that the owner, or another person, did with the terminal."""
        ...

    def closed(
        self,
        session: str,
        owner: Owner,
        ending: Ending,
        recorded: Recorded | None,
        *,
        lasted_s: int,
        bytes_in: int,
        bytes_out: int,
    ) -> None: ...


class Rights(Protocol):
    """Who may still have a terminal. Asked from the event loop; must not block it."""

    async def lost(self, owners: Set[Owner]) -> Mapping[Owner, str]:
        """Those of `owners` who may not, each with the sentence that says why. Nobody when it cannot tell."""
        ...


class Worker:
    """`serve` until `stop`. Raises ValueError for an address at which nothing can listen."""

    def __init__(
        self,
        address: str,
        registry: Registry,
        journal: Journal,
        rights: Rights,
        recordings: Store,
        limits: Limits | None = None,
    ) -> None:
        reach.check(address)
        self.address = address
        self.sessions: dict[str, Session] = {}
        self.connections: set[Connection] = set()
        self._opening: Counter[int] = Counter()
        self._registry = registry
        self._journal = journal
        self._rights = rights
        self._recordings = recordings
        self._limits = limits or Limits()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Blocks until `stop`; then every terminal is told, and the journal has heard of each."""
        loop = asyncio.get_running_loop()
        server = await reach.listen(self.address, lambda: Connection(self))
        beats = [
            loop.create_task(self._every(BEAT_S, self._beat)),
            loop.create_task(self._every(TICK_S, self._tick)),
            loop.create_task(self._every(ASK_S, self._ask)),
        ]
        log.info("terminals are served at %s", self.address)
        await self._stopping.wait()
        reach.leave(server, self.address)
        for beat in beats:
            beat.cancel()
        await self._end_all()
        await self._quietly(self._registry.leave(self.address))

    def stop(self) -> None:
        self._stopping.set()

    def spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def open(self, connection: Connection, asked: Mapping[str, object]) -> Session:
        """Dial and show. Raises what `dial` raises, and Unavailable when the person has too many open."""
        owner = Owner(**asked["owner"])  # type: ignore[arg-type]
        target = Target(**asked["target"])  # type: ignore[arg-type]
        await self._make_room(owner)
        loop = asyncio.get_running_loop()
        session = Session(
            secrets.token_urlsafe(18), owner, loop.time(), self._over, loop.call_later, typed=loop.time()
        )
        session.columns, session.rows = size(asked)
        self._opening[owner.user] += 1
        try:
            await self._record(session, str(asked.get("record") or ""))
            session.shell = await dial(target, session, session.columns, session.rows)
        except BaseException:
            if session.recorder:
                self.spawn(self._discard(session.recorder))
            raise
        finally:
            self._opening[owner.user] -= 1
            self._opening += Counter()  # forgets who has none
        if connection.lost:
            session.end(Ending("unseen", "The page was closed while the terminal opened."))
        self.sessions[session.id] = session
        self._journal.opened(session.id, owner, session.recorder.begun if session.recorder else None)
        await self._quietly(self._registry.beat(self.address, [self._entry(session)]))
        return session

    async def _record(self, session: Session, name: str) -> None:
        """Begin the recording of this name, if one is wanted. Raises NoRecording."""
        if not name:
            return
        recorder = await self._recordings.begin(name, session.columns, session.rows)
        recorder.drained = session.viewer_drained
        recorder.broken = lambda: session.end(
            Ending("recording", "Its recording could not be written, and this team's terminals are recorded.")
        )
        session.recorder = recorder

    async def _discard(self, recorder: Recorder) -> None:
        """Of a terminal that did not open: its file belongs to no row, and is deleted with such."""
        await recorder.close(None)

    def find(self, asked: Mapping[str, object]) -> Session | None:
        """The session, for the person who opened it, on the cluster where it is and as whom they are there."""
        session = self.sessions.get(str(asked.get("session")))
        if session is None or session.shell is None:
            return None
        owner = session.owner
        wanted = (asked.get("user"), asked.get("cluster"), asked.get("login", owner.login))
        return session if (owner.user, owner.cluster, owner.login) == wanted else None

    def shared(self, asked: Mapping[str, object]) -> Session | None:
        """The session that this link's token shows, on the cluster whose door was asked."""
        token, cluster = asked.get("share"), asked.get("cluster")
        found = (s for s in self.sessions.values() if s.audience.token and s.audience.token == token)
        return next((s for s in found if s.shell and s.owner.cluster == cluster), None)

    def share(self, session: Session, *, on: bool) -> None:
        """Make the link, or take it back and let go of everybody who came by it."""
        if on == bool(session.audience.token):
            return
        if on:
            session.audience.open()
            self.spawn(self._quietly(self._registry.beat(self.address, [self._entry(session)])))
        else:
            self.spawn(self._quietly(self._registry.unshare(session.audience.token)))
            session.audience.close("unshared", f"{session.owner.who} does not share this terminal any more.")
        self.note(session, "terminal.share" if on else "terminal.unshare")
        session.tell_watchers()

    def allow(self, session: Session, asked: Mapping[str, object]) -> None:
        """Let a watcher type, keep them from it, or (`out`) let go of them."""
        watcher = session.audience.watchers.get(str(asked["watcher"]))
        if watcher is None:
            return
        if asked.get("out"):
            session.audience.dismiss(watcher, "unshared", f"{session.owner.who} closed this view.")
            self.note(session, "terminal.dismiss", whom=watcher.person.who)
        else:
            watcher.writes = asked.get("writes") is True
            verb = "terminal.allow" if watcher.writes else "terminal.disallow"
            self.note(session, verb, whom=watcher.person.who)
        session.tell_watchers()

    def note(self, session: Session, verb: str, *, by: Person | None = None, **detail: object) -> None:
        """Into the audit trail, as an act of the owner or of `by`."""
        self._journal.noted(session.id, session.owner, verb, by, detail)

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _make_room(self, owner: Owner) -> None:
        """Of too many terminals of one person, the one of this worker that nobody looks at for longest goes."""
        elsewhere = await self._elsewhere(owner.user)
        theirs = [s for s in self.sessions.values() if s.owner.user == owner.user]
        if len(theirs) + elsewhere + self._opening[owner.user] < MOST_PER_PERSON:
            return
        unseen = [s for s in theirs if s.viewer is None]
        if not unseen:
            raise TooMany(
                f"You have {MOST_PER_PERSON} terminals open, which is the most.",
                "Close one in another window, or in the list of your terminals (the menu at your name).",
            )
        oldest = min(unseen, key=lambda s: s.typed)
        oldest.end(
            Ending("unseen", "Left behind, and ended to make room for a newer terminal of the same person.")
        )

    async def _elsewhere(self, user: int) -> int:
        """How many this person has at other workers; without Redis nobody can say, and each counts its own."""
        try:
            held = await self._registry.of_person(user)
        except ConsoleError as error:
            log.warning("%s", error.message)
            return 0
        return sum(place.address != self.address for place in held.values())

    def _over(self, session: Session, ending: Ending) -> None:
        if self.sessions.pop(session.id, None) is None:
            return
        self.spawn(self._tell(session, ending))
        self.spawn(self._quietly(self._registry.end(session.id, self._place(session), ending.sentence)))

    async def _tell(self, session: Session, ending: Ending) -> None:
        """The journal hears of the end once the recording is whole."""
        self._journal.closed(
            session.id,
            session.owner,
            ending,
            await session.recorder.close(ending.status) if session.recorder else None,
            lasted_s=round(self.now() - session.opened),
            bytes_in=session.bytes_in,
            bytes_out=session.bytes_out,
        )

    async def _beat(self) -> None:
        held = [self._entry(session) for session in self.sessions.values()]
        await self._quietly(self._registry.beat(self.address, held))
        await self._quietly(self._registry.tell(self.address, self.counts()))

    def counts(self) -> dict[str, int]:
        """What is held now; all of it is zero when nobody uses a terminal."""
        sessions = self.sessions.values()
        return {
            "sessions": len(sessions),
            "unseen": sum(session.viewer is None for session in sessions),
            "watchers": sum(len(session.audience.watchers) for session in sessions),
            "links": len(self.connections),
            "opening": sum(connection.is_opening for connection in self.connections),
            "recordings": sum(session.recorder is not None for session in sessions),
        }

    async def _tick(self) -> None:
        now = self.now()
        for session in list(self.sessions.values()):
            found = due(self._limits, now=now, opened=session.opened, typed=session.typed)
            if found and found.left_s == 0:
                session.end(Ending(found.code, found.sentence))
            else:
                session.warn(found)

    async def _ask(self) -> None:
        """End what nobody looks at and nobody may look at any more; of the others their pages' sockets ask."""
        unseen = [session for session in self.sessions.values() if session.viewer is None]
        lost = await self._rights.lost({session.owner for session in unseen}) if unseen else {}
        for session in unseen:
            if session.viewer is None and session.owner in lost:
                session.end(Ending("revoked", lost[session.owner]))

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

    def _entry(self, session: Session) -> tuple[str, Place]:
        return session.id, self._place(session)

    def _place(self, session: Session) -> Place:
        began = time.time() - self.now()
        return Place(
            self.address,
            session.owner.user,
            session.owner.cluster,
            session.audience.token,
            opened_at=round(began + session.opened),
            typed_at=round(began + session.typed),
            is_seen=session.viewer is not None,
        )


class TooMany(ConsoleError):
    code = "too-many"
    status = 409
