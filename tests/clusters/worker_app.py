"""The console's Celery application for worker processes of the tests, with leases that run out soon."""

from clusters import leases
from console.celery import app

leases.LEASE_S, leases.BEAT_S = 2.0, 0.5
__all__ = ["app"]
