"""The live socket of a cluster's pages: authorise, join, forward, and ask again while it is open."""

import asyncio
import contextlib

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.db import DatabaseError

from clusters.access import Door, cluster_for
from console import live
from console.errors import ConsoleError
from console.roles import Action
from console.sessions import signed_in

DENIED = 4403
GONE = 4404
# What nobody announced (an edit in the admin site, a lost message) is found within this time.
ASK_S = 4.0


class LiveConsumer(AsyncJsonWebsocketConsumer):
    """`/ws/t/<team>/c/<cluster>/live`. Sends what `live.publish` sent to the cluster's topic; takes nothing."""

    action = Action.VIEW

    async def connect(self) -> None:
        self.asking: asyncio.Task[None] | None = None
        try:
            door = await self._door()
        except ConsoleError as error:
            await self.accept()
            await self.close(code=GONE if error.status == 404 else DENIED)
            return
        self.topics = (live.cluster_topic(door.cluster.key), live.user_topic(door.membership.user_id))
        for topic in self.topics:
            await self.channel_layer.group_add(topic, self.channel_name)
        await self.accept()
        self.asking = asyncio.create_task(self._keep_asking())

    async def disconnect(self, code: int) -> None:
        if self.asking:
            self.asking.cancel()
        for topic in getattr(self, "topics", ()):
            await self.channel_layer.group_discard(topic, self.channel_name)

    async def receive(
        self, text_data: str | None = None, bytes_data: bytes | None = None, **more: object
    ) -> None:
        """Nothing that a page says means anything here, well-formed or not."""

    async def live_push(self, message: dict[str, object]) -> None:
        await self.send_json({key: value for key, value in message.items() if key != "type"})

    async def rights_changed(self, message: dict[str, object]) -> None:
        # With the database away the next regular question decides.
        with contextlib.suppress(DatabaseError):
            await self._ask()

    async def _keep_asking(self) -> None:
        while True:
            await asyncio.sleep(ASK_S)
            with contextlib.suppress(DatabaseError):
                await self._ask()

    async def _ask(self) -> None:
        try:
            await self._door()
        except ConsoleError:
            await self.close(code=DENIED)

    @database_sync_to_async
    def _door(self) -> Door:
        """Whether the person may, asked afresh: signed out, shut out and gone all raise."""
        route = self.scope["url_route"]["kwargs"]
        person = signed_in(self.scope["session"].session_key)
        return cluster_for(person, route["team"], route["cluster"], self.action)


class NoSuchSocket(AsyncJsonWebsocketConsumer):
    """Every other address: a stranger's guess is answered, not an error in the log."""

    action = Action.VIEW

    async def connect(self) -> None:
        await self.accept()
        await self.close(code=GONE)
