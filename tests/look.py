"""A console over seeded rows, to look at: `python -m tests.look [port]`, with DATABASE_URL and REDIS_URL set.

Beats like a watcher, so that pages stay fresh. For designing pages and for taking pictures without a cluster.
"""

import os
import sys
import threading
from time import sleep

import django
import uvicorn


def beat() -> None:
    """What the watcher says each tick when nothing changed."""
    from django.utils import timezone

    from clusters.models import Cluster
    from console import live

    while True:
        for cluster in Cluster.objects.filter(status__in=["Running", "Creating", "Failed"]):
            now = timezone.now()
            Cluster.objects.filter(pk=cluster.pk).update(observed_at=now)
            live.publish(live.cluster_topic(cluster.key), at=now.isoformat(), problem="")
        sleep(2)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    from tests.seed import PASSWORD, let_in, seed

    made = seed()
    let_in(made)
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 27000
    print(f"http://127.0.0.1:{port}: sign in as {', '.join(made.users)} with {PASSWORD}", flush=True)
    threading.Thread(target=beat, daemon=True).start()
    uvicorn.run("console.asgi:application", port=port, log_level="warning")


if __name__ == "__main__":
    main()
