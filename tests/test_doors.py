"""Every route and every socket has a declared action, and every role meets it as the table says."""

from collections.abc import Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from console.access import PUBLIC, SIGNED_IN
from console.roles import Action
from console.sockets import websocket_urlpatterns

FOREIGN = ("admin/", "api/schema/", "api/docs/")


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, path)
        else:
            yield path, pattern


def own_routes() -> list[tuple[str, URLPattern]]:
    return [(path, p) for path, p in routes(get_resolver().url_patterns) if not path.startswith(FOREIGN)]


def declared(pattern: URLPattern) -> set[object]:
    """What the view asks for: a function's or a class's `action`, or an API class's `actions` by method."""
    view = pattern.callback
    known = getattr(view, "cls", None) or getattr(view, "view_class", None) or view
    if getattr(known, "actions", None):
        return set(known.actions.values())
    return {getattr(known, "action", None)}


@pytest.mark.parametrize(("path", "pattern"), own_routes(), ids=[path for path, _ in own_routes()])
def test_route_declares_its_action(path: str, pattern: URLPattern) -> None:
    actions = declared(pattern)
    assert actions and all(isinstance(a, Action) or a in (PUBLIC, SIGNED_IN) for a in actions), (
        f"{path}: {actions}"
    )


def test_every_socket_declares_its_action() -> None:
    consumers = [route.callback.consumer_class for route in websocket_urlpatterns]
    assert consumers
    assert all(isinstance(consumer.action, Action) for consumer in consumers)
