"""Web entry: pages and API by Django, sockets by Channels, both behind the same session and the same host check."""

import os
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
pages = get_asgi_application()

from console.body_limit import BodyLimit  # noqa: E402
from console.fair_share import FairShare  # noqa: E402
from console.socket_limits import OpeningLimit, TrafficLimit  # noqa: E402
from console.sockets import websocket_urlpatterns  # noqa: E402  (models must be loaded first)

# Channels and uvicorn type an application's messages each in their own way.
inside: Any = URLRouter(websocket_urlpatterns)
sockets: Any = AuthMiddlewareStack(TrafficLimit(inside))
routed = ProtocolTypeRouter(
    {
        "http": FairShare(BodyLimit(pages)),
        "websocket": AllowedHostsOriginValidator(OpeningLimit(sockets)),
    }
)
# The server itself must not believe such headers (uvicorn does, from 127.0.0.1, unless told --no-proxy-headers).
proxies = settings.TRUSTED_PROXIES
application = ProxyHeadersMiddleware(routed, proxies) if proxies else routed  # type: ignore[arg-type]  # ASGI either way
