"""The live socket of a cluster's pages: authorise, join, forward, and ask again when rights change."""

from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth.models import AnonymousUser

from clusters.access import Door, cluster_for
from console import live
from console.errors import ConsoleError
from console.roles import Action

DENIED = 4403
GONE = 4404


class LiveConsumer(AsyncJsonWebsocketConsumer):
    """`/ws/t/<team>/c/<cluster>/live`. Sends what `live.publish` sent to the cluster's topic; takes nothing."""

    action = Action.VIEW

    async def connect(self) -> None:
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

    async def disconnect(self, code: int) -> None:
        for topic in getattr(self, "topics", ()):
            await self.channel_layer.group_discard(topic, self.channel_name)

    async def live_push(self, message: dict[str, object]) -> None:
        await self.send_json({key: value for key, value in message.items() if key != "type"})

    async def rights_changed(self, message: dict[str, object]) -> None:
        try:
            await self._door()
        except ConsoleError:
            await self.close(code=DENIED)

    @database_sync_to_async
    def _door(self) -> Door:
        route = self.scope["url_route"]["kwargs"]
        user: Any = self.scope["user"] or AnonymousUser()
        return cluster_for(user, route["team"], route["cluster"], self.action)
