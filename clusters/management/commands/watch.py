"""`manage.py watch`: look at clusters until told to stop. Any number may run; they share the clusters."""

import signal
import threading
from argparse import ArgumentParser

from django.conf import settings
from django.core.management.base import BaseCommand

from clusters.watcher import Watcher


class Command(BaseCommand):
    help = "Watch clusters: observe each once a tick, write what changed, show it on open pages."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--clusters", type=int, default=64, help="how many clusters this process takes at most"
        )

    def handle(self, *, clusters: int, **options: object) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        Watcher(settings.WATCH_TICK_S, most_clusters=clusters).run(stop)
