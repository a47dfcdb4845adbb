"""A terminal worker against a real sshd, without web, database or Redis around it: for tests of what it holds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Set
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from console.errors import Unavailable
from slurm.authority import certificate
from slurm.terminal import reach, wire
from slurm.terminal.audience import Person
from slurm.terminal.limits import Limits
from slurm.terminal.link import PIECE, Link
from slurm.terminal.recorder import Begun, Recorded, Store
from slurm.terminal.registry import Place
from slurm.terminal.session import Ending, Owner
from slurm.terminal.wire import Kind
from slurm.terminal.worker import Worker
from tests.slurm.terminal.sshd import Sshd

OWNER = {"user": 1, "who": "mo", "team": 1, "cluster": "c1", "cluster_slug": "demo", "address": "127.0.0.1"}


class Cluster:
    """As much of a cluster as signing needs."""

    key = "c1"


class Nowhere:
    """A registry that is told and keeps nothing."""

    async def beat(self, address: str, sessions: list[tuple[str, Place]]) -> None: ...

    async def end(self, session: str, place: Place, sentence: str) -> None: ...

    async def of_person(self, user: int) -> dict[str, Place]:
        return {}

    async def tell(self, address: str, facts: dict[str, int]) -> None: ...

    async def leave(self, address: str) -> None: ...


class Away(Nowhere):
    """Redis does not answer."""

    async def beat(self, address: str, sessions: list[tuple[str, Place]]) -> None:
        raise Unavailable("Redis does not answer.")

    async def end(self, session: str, place: Place, sentence: str) -> None:
        raise Unavailable("Redis does not answer.")

    async def of_person(self, user: int) -> dict[str, Place]:
        raise Unavailable("Redis does not answer.")

    async def leave(self, address: str) -> None:
        raise Unavailable("Redis does not answer.")


class Journal:
    """The audit trail's lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def opened(self, session: str, owner: Owner, recording: Begun | None) -> None:
        self.begun = recording
        self.lines.append(("opened", owner.who))

    def noted(self, session: str, owner: Owner, verb: str, by: Person | None, detail: object) -> None:
        self.lines.append((verb, by.who if by else owner.who))

    def closed(
        self, session: str, owner: Owner, ending: Ending, recorded: Recorded | None, **counts: int
    ) -> None:
        self.recorded = recorded
        self.lines.append(("closed", ending.code))


class Rights:
    """Nobody loses anything until a test says why."""

    why = ""

    async def lost(self, owners: Set[Owner]) -> dict[Owner, str]:
        return dict.fromkeys(owners, self.why) if self.why else {}


class Rig:
    """A running worker and the connections made to it."""

    def __init__(
        self, address: str, sshd: Sshd, limits: Limits | None, registry: Nowhere, recordings: Path
    ) -> None:
        self.sshd = sshd
        self.journal = Journal()
        self.rights = Rights()
        store = Store(recordings, 100_000, 1_000_000)
        self.worker = Worker(address, registry, self.journal, self.rights, store, limits)  # type: ignore[arg-type]

    async def link(self) -> Link:
        return Link(*await reach.connect(self.worker.address, limit=2 * PIECE, within_s=5))

    async def opened(self, **over: object) -> tuple[Link, dict[str, Any]]:
        link = await self.link()
        record = str(over.pop("record", ""))
        owner = {**OWNER, "user": over.pop("user", OWNER["user"])}
        login, minutes = str(over.pop("principal", self.sshd.user)), int(str(over.pop("minutes", 5)))
        signed = certificate(Cluster, login, "mo", minutes)  # type: ignore[arg-type]
        target = {
            "host": "127.0.0.1", "port": self.sshd.port, "user": self.sshd.user, "host_key": self.sshd.host_key,
            "key": signed.key, "certificate": signed.certificate, **over,
        }  # fmt: skip
        facts = {"owner": owner, "target": target, "record": record}
        link.send(wire.message(Kind.OPEN, **facts, columns=80, rows=24))
        kind, payload = (await link.read())[0]
        return link, {"kind": kind, **wire.fields(payload)}


@contextlib.asynccontextmanager
async def rig(
    tmp_path: Path,
    sshd: Sshd,
    limits: Limits | None = None,
    registry: type[Nowhere] = Nowhere,
    address: str = "",
) -> AsyncIterator[Rig]:
    made = Rig(address or str(tmp_path / "w.sock"), sshd, limits, registry(), tmp_path / "recordings")
    serving = asyncio.create_task(made.worker.serve())
    while not await is_reached(made.worker.address):
        await asyncio.sleep(0.01)
    yield made
    made.worker.stop()
    await serving


async def is_reached(address: str) -> bool:
    try:
        _reader, writer = await reach.connect(address, limit=PIECE, within_s=5)
    except OSError:
        return False
    writer.close()
    return True


def run(work: Coroutine[Any, Any, None], within_s: float = 30) -> None:
    asyncio.run(asyncio.wait_for(work, within_s))


async def until(link: Link, text: bytes) -> bytes:
    """Everything printed, up to the piece that holds `text`."""
    printed = b""
    while text not in printed:
        frames = await link.read()
        assert frames, printed
        printed += b"".join(payload for kind, payload in frames if kind == Kind.OUTPUT)
    return printed


LEFT: WeakKeyDictionary[Link, list[tuple[Kind, bytes]]] = WeakKeyDictionary()


async def said(link: Link, kind: Kind) -> dict[str, Any]:
    """What comes after it in the same piece is kept for the next question."""
    while True:
        frames = LEFT.pop(link, []) or await link.read()
        assert frames, f"closed without {kind.name}"
        for n, (each, payload) in enumerate(frames, 1):
            if each == kind:
                LEFT[link] = frames[n:]
                return wire.fields(payload)
