"""Pushing to open pages: the one sender to the channel layer.

A message holds state, never a delta: rendered fragments to be swapped by element id, names of regions that
should fetch themselves again, and the time of the look they came from. Delivery is at most once; a page that
reconnects fetches every live region again. A fragment is rendered here once for all viewers, so it may hold
no control and no secret.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from django.template.loader import render_to_string
from redis.exceptions import RedisError

SEND_S = 2.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fragment:
    """`id` is the root element's id in `html`."""

    id: str
    html: str


def fragment(template: str, id: str, **context: object) -> Fragment:
    """Render `_template.html` as the page itself would include it."""
    return Fragment(id, render_to_string(template, context))


def cluster_topic(key: str) -> str:
    return f"cluster.{key}"


def team_topic(pk: int) -> str:
    return f"team.{pk}"


def user_topic(pk: int) -> str:
    """Where a person's rights are announced as changed, so that sockets ask again."""
    return f"user.{pk}"


def publish(
    topic: str, fragments: Sequence[Fragment] = (), *, refresh: Sequence[str] = (), **facts: object
) -> None:
    """Send once the current transaction has committed (at once outside of one).

    Never raises, neither for an absent viewer nor for an absent Redis (logged, and given up after 2 s): what
    is shown must not decide what is done.
    """
    message = {
        "type": "live.push",
        "fragments": [{"id": f.id, "html": f.html} for f in fragments],
        "refresh": list(refresh),
        **facts,
    }
    transaction.on_commit(lambda: _send(topic, message))


def rights_changed(user: int) -> None:
    """Have this person's sockets ask again what they may, once the current transaction has committed.

    Like `publish` never raises: sockets that did not hear it find out by themselves within seconds.
    """
    transaction.on_commit(lambda: _send(user_topic(user), {"type": "rights.changed"}))


def _send(topic: str, message: Mapping[str, object]) -> None:
    try:
        async_to_sync(_sent_in_time)(topic, message)
    except (OSError, RedisError, TimeoutError) as error:
        log.warning("pages not told: topic %s: %r", topic, error)


async def _sent_in_time(topic: str, message: Mapping[str, object]) -> None:
    layer = get_channel_layer()
    assert layer is not None, "settings.CHANNEL_LAYERS names one"
    await asyncio.wait_for(layer.group_send(topic, dict(message)), SEND_S)
