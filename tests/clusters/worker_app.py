"""The console's Celery application for worker processes of the tests, with leases that run out soon."""

import django

django.setup()

from clusters import leases  # noqa: E402  (the applications must be loaded first)
from console.celery import app  # noqa: E402

leases.LEASE_S, leases.BEAT_S = 2.0, 0.5
__all__ = ["app"]
