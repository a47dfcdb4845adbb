"""Pushing to pages: what is sent, when, and that Redis being away or silent stops nothing."""

import socket
import time
from collections.abc import Iterator

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings as real
from django.db import transaction

from console import live

TOPIC = "cluster.test"


def layer_at(settings, port: int) -> None:
    settings.CHANNEL_LAYERS = {
        "default": {**real.CHANNEL_LAYERS["default"], "CONFIG": {"hosts": [f"redis://127.0.0.1:{port}/0"]}}
    }


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Somebody who accepts a connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_message_holds_fragments_regions_and_facts(db, settings, django_capture_on_commit_callbacks):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

    async def hear() -> dict[str, object]:
        layer = get_channel_layer()
        await layer.group_add(TOPIC, "page")
        await live._sent_in_time(
            TOPIC, {"type": "live.push", "fragments": [], "refresh": ["nodes"], "at": "now"}
        )
        return await layer.receive("page")

    assert async_to_sync(hear)()["refresh"] == ["nodes"]


def test_nothing_is_sent_before_the_commit(db, monkeypatch, django_capture_on_commit_callbacks):
    sent: list[dict[str, object]] = []
    monkeypatch.setattr(live, "_send", lambda topic, message: sent.append(message))
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        live.publish(TOPIC, [live.Fragment("a", "<p id='a'>")], refresh=["jobs"], problem="none")
        assert sent == []
    assert sent == [
        {
            "type": "live.push",
            "fragments": [{"id": "a", "html": "<p id='a'>"}],
            "refresh": ["jobs"],
            "problem": "none",
        }
    ]


def test_an_absent_redis_stops_nothing(settings, caplog):
    layer_at(settings, free_port())
    live._send(TOPIC, {"type": "live.push"})
    assert "pages not told" in caplog.text


def test_a_silent_redis_is_given_up_after_two_seconds(settings, caplog, silent_port):
    layer_at(settings, silent_port)
    began = time.monotonic()
    live._send(TOPIC, {"type": "live.push"})
    assert time.monotonic() - began < live.SEND_S + 3
    assert "pages not told" in caplog.text
