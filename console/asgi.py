"""Web entry: pages and API by Django, sockets by Channels, both behind the same session and the same host check."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
pages = get_asgi_application()

from console.body_limit import BodyLimit  # noqa: E402
from console.sockets import websocket_urlpatterns  # noqa: E402  (models must be loaded first)

application = ProtocolTypeRouter(
    {
        "http": BodyLimit(pages),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
