"""Every socket route. Each consumer names its `action`; `tests/test_doors.py` checks that none is missing."""

from django.urls import path

from clusters.consumers import LiveConsumer
from slurm.consumers import TerminalConsumer

websocket_urlpatterns = [
    path("ws/t/<slug:team>/c/<slug:cluster>/live", LiveConsumer.as_asgi()),
    path("ws/t/<slug:team>/c/<slug:cluster>/terminal", TerminalConsumer.as_asgi()),
]
