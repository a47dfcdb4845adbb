"""The browser's end of a terminal: `/ws/t/<team>/c/<cluster>/terminal`.

Authorises, finds the worker and passes bytes; the shell itself lives in the terminal worker, so this process may end
at any time. Binary messages are terminal bytes both ways. Text messages are JSON with a `kind`:

    from the page   open {columns, rows, session?, seen?, share?, told?}   resize {columns, rows}   ack {bytes}
                    close   ping   share {on}   allow {watcher, writes | out}
    to the page     ready {session, fresh, whole, replay, total, recorded}   taken {bytes}
                    notice {code, sentence, left_s}
                    ended {code, sentence, status}   refused {code, sentence, hint, retry}   pong
                    size {columns, rows}   watchers {watchers, away, token | owner, you}

`share` is the token of a link to a terminal that somebody shares: its size is theirs, keys count once they allow it.

Both directions are credit of `WINDOW` bytes: output that the page has not acknowledged stops the reading of the worker,
and with it the login node; a page that types past its own credit is cut off. The right is asked again every few
seconds, and at once when the person's rights are announced as changed.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Coroutine, Mapping

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import DatabaseError

from clusters.access import Door, cluster_for
from clusters.consumers import DENIED, GONE
from console import live
from console.errors import ConsoleError, Unavailable
from console.roles import Action
from console.sessions import signed_in
from slurm.terminal import wire
from slurm.terminal.link import Link, any_worker, worker_of, worker_sharing
from slurm.terminal.opening import login_name, note_refusal, order, recording_for, require_login
from slurm.terminal.registry import Registry
from slurm.terminal.sockets import OpenSockets
from slurm.terminal.wire import WINDOW, Garbled, Kind

log = logging.getLogger(__name__)
SOCKETS = OpenSockets()
BROKEN, SILENT, ENDED, AWAY = 4400, 4408, 4410, 4503
CLOSING = {403: DENIED, 404: GONE, 503: AWAY}
# Less than five seconds with the asking itself.
ASK_S = 4.0
# A terminal outlives a database that is away for this long; then nobody can say whether it may go on.
UNASKED_S = 60.0
# The page pings every 15 s.
SILENCE_S = 60.0


class TerminalConsumer(AsyncWebsocketConsumer):
    """One page's socket."""

    action = Action.TERMINAL

    async def connect(self) -> None:
        self.link: Link | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.credit = Credit()
        self.typed = 0
        self.topic = ""
        self.is_opening = False
        # Who the person is on the login node, in a terminal of their own; None in one that another shares.
        self.login: str | None = None
        self.heard = time.monotonic()
        self.address = (self.scope.get("client") or [""])[0]
        await self.accept()
        try:
            self.door = await self._door()
        except ConsoleError as error:
            await self._refuse(error)
            return
        SOCKETS.add(self.channel_name)
        self.topic = live.user_topic(self.door.membership.user.pk)
        await self.channel_layer.group_add(self.topic, self.channel_name)
        self._spawn(self._keep_asking())

    async def disconnect(self, code: int) -> None:
        SOCKETS.remove(self.channel_name)
        for task in self.tasks:
            task.cancel()
        if self.link:
            self.link.close()
        if self.topic:
            await self.channel_layer.group_discard(self.topic, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self.heard = time.monotonic()
        try:
            if bytes_data is not None:
                self._type(bytes_data)
            else:
                await self._control(wire.fields((text_data or "").encode()))
        except (Garbled, KeyError, TypeError, ValueError):
            await self.close(
                code=BROKEN, reason="The page and the console do not understand each other: reload."
            )

    async def rights_changed(self, message: dict[str, object]) -> None:
        # With the database away the next regular question decides.
        with contextlib.suppress(DatabaseError):
            await self._ask()

    async def live_push(self, message: dict[str, object]) -> None:
        """Fragments are for pages."""

    def _type(self, data: bytes) -> None:
        self.typed += len(data)
        if self.typed > WINDOW:
            raise Garbled("More was typed than the page has credit for.")
        if self.link:
            self.link.send(wire.frame(Kind.INPUT, data))

    async def _control(self, said: dict[str, object]) -> None:
        match said["kind"]:
            case "ack":
                self.credit.give_back(number(said["bytes"]))
            case "resize" if self.link:
                self.link.send(wire.message(Kind.RESIZE, **_size(said)))
            case "share" if self.link:
                self.link.send(wire.message(Kind.SHARE, on=said["on"] is True))
            case "allow" if self.link:
                who = {"watcher": str(said["watcher"]), "writes": said.get("writes"), "out": said.get("out")}
                self.link.send(wire.message(Kind.ALLOW, **who))
            case "close" if self.link:
                self.link.send(wire.message(Kind.END, code="closed", sentence="It was closed on its page."))
            case "ping":
                await self._say("pong")
            case "open" if self.topic and not self.is_opening:
                self.is_opening = True
                self._spawn(self._run(_size(said), said))

    async def _run(self, size: dict[str, int], said: Mapping[str, object]) -> None:
        """Reach the shell, then pass what it prints until one side has enough."""
        session, share = str(said.get("session") or ""), str(said.get("share") or "")
        try:
            if share:
                self.link = await self._joined(share)
            elif session:
                self.link = await self._shown_again(size, session, said.get("seen"))
            else:
                self.link = await self._opened(size, told=said.get("told") is True)
            await self._pump(self.link)
        except ConsoleError as error:
            await self._refuse(error)

    async def _opened(self, size: dict[str, int], *, told: bool) -> Link:
        """A link on which a worker is opening a terminal."""
        record = await database_sync_to_async(recording_for)(self.door, told=told)
        asked = await database_sync_to_async(order)(self.door, self.address)
        self.login = str(asked["owner"]["login"])
        async with Registry(settings.REDIS_URL) as registry:
            link = await any_worker(registry)
        link.send(wire.message(Kind.OPEN, record=record, **asked, **size))
        return link

    async def _shown_again(self, size: dict[str, int], session: str, seen: object) -> Link:
        """A link to the terminal that the page remembers. Raises Gone when it is not this person's, or no more."""
        user, cluster = self.door.membership.user.pk, self.door.cluster.key
        self.login = await database_sync_to_async(login_name)(self.door)
        async with Registry(settings.REDIS_URL) as registry:
            link = await worker_of(registry, session, user, cluster)
        who = {"user": user, "cluster": cluster, "login": self.login}
        link.send(wire.message(Kind.ATTACH, session=session, seen=seen, **who, **size))
        return link

    async def _joined(self, share: str) -> Link:
        """A link to a terminal that another person, or this one elsewhere, shares. Raises Gone."""
        user, cluster = self.door.membership.user, self.door.cluster.key
        async with Registry(settings.REDIS_URL) as registry:
            link = await worker_sharing(registry, share, cluster)
        who = {"user": user.pk, "who": user.username, "address": self.address}
        link.send(wire.message(Kind.JOIN, share=share, cluster=cluster, **who))
        return link

    async def _pump(self, link: Link) -> None:
        while frames := await link.read():
            for kind, payload in frames:
                if kind == Kind.OUTPUT:
                    self.credit.spend(len(payload))
                    await self.send(bytes_data=payload)
                else:
                    await self._pass(kind, wire.fields(payload))
                if kind in (Kind.ENDED, Kind.REFUSED):
                    return
            await self.credit.room()
        raise Unavailable("The terminal service went away.", "What ran in the terminal has ended with it.")

    async def _pass(self, kind: Kind, said: dict[str, object]) -> None:
        if kind == Kind.TAKEN:
            self.typed = max(0, self.typed - number(said["bytes"]))
        presented = str(said.pop("presented", ""))
        if kind == Kind.REFUSED and said["code"] not in ("gone", "unshared"):
            await database_sync_to_async(note_refusal)(self.door, self.address, str(said["code"]), presented)
        await self._say(kind.name.lower(), **said)
        if kind in (Kind.ENDED, Kind.REFUSED):
            await self.close(code=ENDED, reason=_short(str(said["sentence"])))

    async def _keep_asking(self) -> None:
        answered = time.monotonic()
        while True:
            await asyncio.sleep(ASK_S)
            try:
                await self._ask()
                answered = time.monotonic()
            except DatabaseError:
                if time.monotonic() - answered > UNASKED_S:
                    await self.close(
                        code=AWAY, reason="The console cannot ask whether you may use this terminal."
                    )
            if time.monotonic() - self.heard > SILENCE_S:
                await self.close(code=SILENT, reason="The page was not heard of.")

    async def _ask(self) -> None:
        """End the terminal, for good, when the right to it is gone."""
        try:
            door = await self._door()
            if self.login is not None:
                await database_sync_to_async(require_login)(door, self.login)
        except ConsoleError as error:
            if self.link:
                self.link.send(wire.message(Kind.END, code="revoked", sentence=error.message))
            await self._refuse(error)

    async def _refuse(self, error: ConsoleError) -> None:
        """Say why, then close with a code that tells the page whether to come back."""
        await self._say(
            "refused", code=error.code, sentence=error.message, hint=error.hint, retry=error.retryable
        )
        await self.close(code=CLOSING.get(error.status, ENDED), reason=_short(error.message))

    async def _say(self, kind: str, **fields: object) -> None:
        await self.send(text_data=json.dumps({"kind": kind, **fields}))

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        fault = None if task.cancelled() else task.exception()
        # A page that left in the middle of a message is no fault (uvicorn: ClientDisconnected is an OSError).
        if fault and not isinstance(fault, OSError):
            log.error("a terminal's socket failed", exc_info=fault)

    @database_sync_to_async
    def _door(self) -> Door:
        """Whether the person may, asked afresh: signed out, shut out and gone all raise."""
        route = self.scope["url_route"]["kwargs"]
        return cluster_for(
            signed_in(self.scope["session"].session_key), route["team"], route["cluster"], self.action
        )


class Credit:
    """How much output the page has not acknowledged."""

    def __init__(self) -> None:
        self._spent = 0
        self._free = asyncio.Event()
        self._free.set()

    def spend(self, count: int) -> None:
        self._spent += count
        if self._spent >= WINDOW:
            self._free.clear()

    def give_back(self, count: int) -> None:
        self._spent = max(0, self._spent - count)
        if self._spent < WINDOW:
            self._free.set()

    async def room(self) -> None:
        await self._free.wait()


def number(value: object) -> int:
    """A count from a message. Raises Garbled."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Garbled("A number was expected.")
    return value


def _size(said: dict[str, object]) -> dict[str, int]:
    return {"columns": number(said["columns"]), "rows": number(said["rows"])}


def _short(sentence: str) -> str:
    """A close frame holds 123 bytes of reason (RFC 6455, 5.5)."""
    return sentence.encode()[:120].decode(errors="ignore")
