"""The worker's end of one consumer's connection: what it may ask of the session that it shows."""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from console.errors import ConsoleError
from slurm.terminal.audience import NOT_SHARED, Person, Watcher
from slurm.terminal.outbox import Outbox
from slurm.terminal.session import Ending, Session
from slurm.terminal.ssh import HostKeyChanged
from slurm.terminal.wire import Decoder, Garbled, Kind, fields, message

if TYPE_CHECKING:
    from slurm.terminal.worker import Worker

log = logging.getLogger(__name__)
LEAVE_S = 10.0


class Connection(asyncio.Protocol):
    """One consumer. Its first frame opens, attaches, joins or closes from afar; a broken one is cut off."""

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._decoder = Decoder()
        self._session: Session | None = None
        self._watcher: Watcher | None = None
        self._asked = False
        self.full = False
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes, and do the same.
        self._transport = transport = cast(asyncio.Transport, transport)
        self._outbox = Outbox(transport)
        self._worker.connections.add(self)

    @property
    def is_opening(self) -> bool:
        """Whether it was asked for a terminal that it does not show yet, or shows no more."""
        return self._asked and self._session is None

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
        if self._session and self._watcher:
            self._session.watcher_drained(self._watcher)
        elif self._session:
            self._session.viewer_drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._worker.connections.discard(self)
        self.full = False
        if self._session and self._watcher:
            self._part(self._session, self._watcher)
        elif self._session:
            self._session.detach(self)

    def send(self, data: bytes) -> None:
        self._outbox.send(data)

    def leave(self) -> None:
        self._session = None
        self._outbox.flush()
        self._transport.close()
        # What is buffered for a consumer that does not read is given up after a while.
        asyncio.get_running_loop().call_later(LEAVE_S, self._transport.abort)

    def _take(self, kind: Kind, payload: bytes) -> None:
        if kind in (Kind.OPEN, Kind.ATTACH, Kind.JOIN, Kind.CLOSE):
            self._first(kind, fields(payload))
        elif self._session is None:
            return  # Typed before it was open, or after it ended.
        elif self._watcher:
            self._take_watcher_s(self._session, self._watcher, kind, payload)
        else:
            self._take_owner_s(self._session, kind, payload)

    def _take_owner_s(self, session: Session, kind: Kind, payload: bytes) -> None:
        if kind == Kind.INPUT:
            session.type(payload, self._worker.now(), self)
        elif kind == Kind.RESIZE:
            session.resize(*size(fields(payload)))
        elif kind == Kind.SHARE:
            self._worker.share(session, on=fields(payload)["on"] is True)
        elif kind == Kind.ALLOW:
            self._worker.allow(session, fields(payload))
        elif kind == Kind.END:
            asked = fields(payload)
            session.end(Ending(str(asked["code"]), str(asked["sentence"])))

    def _take_watcher_s(self, session: Session, watcher: Watcher, kind: Kind, payload: bytes) -> None:
        """The size is the owner's, and only their own view is theirs to end."""
        if kind == Kind.INPUT:
            session.type_by(watcher, payload, self._worker.now())
        elif kind == Kind.END:
            asked = fields(payload)
            self._part(session, watcher)
            self.send(message(Kind.ENDED, code=asked["code"], sentence=asked["sentence"], status=None))
            self.leave()

    def _first(self, kind: Kind, asked: Mapping[str, object]) -> None:
        if self._asked:
            raise Garbled("A second terminal was asked for on one connection.")
        self._asked = True
        if kind == Kind.OPEN:
            self._worker.spawn(self._open(asked))
        elif kind == Kind.ATTACH:
            self._attach(asked)
        elif kind == Kind.CLOSE:
            self._close(asked)
        else:
            self._join(asked)

    async def _open(self, asked: Mapping[str, object]) -> None:
        try:
            session = await self._worker.open(self, asked)
        except HostKeyChanged as error:
            self._refuse(error.code, error.message, error.hint, presented=error.presented)
            return
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
        session.resize(*size(asked))
        seen = asked.get("seen")
        session.attach(self, fresh=False, seen=seen if isinstance(seen, int) else None)

    def _close(self, asked: Mapping[str, object]) -> None:
        """End a terminal without looking at it."""
        session = self._worker.find(asked)
        if session is None:
            self._refuse("gone", "The terminal has ended.", "")
            return
        ending = Ending("closed", "It was closed in its owner's list of open terminals.")
        session.end(ending)
        self.send(message(Kind.ENDED, code=ending.code, sentence=ending.sentence, status=None))
        self.leave()

    def _join(self, asked: Mapping[str, object]) -> None:
        session = self._worker.shared(asked)
        if session is None:
            self._refuse("unshared", NOT_SHARED, "")
            return
        person = Person(int(str(asked["user"])), str(asked["who"]), str(asked["address"]))
        try:
            self._watcher = session.join(person, self)
        except ConsoleError as error:
            self._refuse(error.code, error.message, error.hint)
            return
        self._session = session
        self._worker.note(session, "terminal.watch", by=person, whose=session.owner.who)

    def _part(self, session: Session, watcher: Watcher) -> None:
        if session.part(watcher):
            self._worker.note(session, "terminal.unwatch", by=watcher.person, whose=session.owner.who)

    def _refuse(self, code: str, sentence: str, hint: str, **more: str) -> None:
        if not self.lost:
            self.send(message(Kind.REFUSED, code=code, sentence=sentence, hint=hint, **more))
            self.leave()


def size(asked: Mapping[str, object]) -> tuple[int, int]:
    """Columns and rows, within what a pty takes and a person can mean. Raises KeyError, TypeError, ValueError."""
    return _within(asked["columns"], 1000), _within(asked["rows"], 500)


def _within(value: object, most: int) -> int:
    return max(1, min(int(str(value)), most))
