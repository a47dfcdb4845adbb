"""Pushing to open pages: the one sender to the channel layer.

A message holds state, never a delta: rendered fragments to be swapped by element id, names of regions that should fetch
themselves again, and the time of the look they came from. Delivery is at most once; a page that reconnects fetches
every live region again. A fragment is rendered here once for all viewers, so it may hold no control and no secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from django.template.loader import render_to_string


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
    """Send once the current transaction has committed (at once outside of one). Never raises for an absent viewer."""
    message = {
        "type": "live.push",
        "fragments": [{"id": f.id, "html": f.html} for f in fragments],
        "refresh": list(refresh),
        **facts,
    }
    transaction.on_commit(lambda: _send(topic, message))


def _send(topic: str, message: dict[str, object]) -> None:
    async_to_sync(get_channel_layer().group_send)(topic, message)
