"""Every socket route. Each consumer names its `action`; `tests/test_doors.py` checks that none is missing."""

from typing import Any

from django.urls import path, re_path

from clusters.consumers import LiveConsumer, NoSuchSocket
from slurm.consumers import TerminalConsumer

CLUSTER = "ws/t/<slug:team>/c/<slug:cluster>"

# Django's `path` is typed for views; an ASGI application goes through it unharmed, as Channels documents.
route: Any = path
any_other: Any = re_path
websocket_urlpatterns = [
    route(f"{CLUSTER}/live", LiveConsumer.as_asgi()),
    route(f"{CLUSTER}/terminal", TerminalConsumer.as_asgi()),
    any_other("", NoSuchSocket.as_asgi()),
]
