"""`manage.py terminals`: the process that holds people's terminals. Restarting the web server ends none of them."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand

from slurm.terminal.journal import DatabaseJournal
from slurm.terminal.registry import Registry
from slurm.terminal.worker import LONGEST_PATH, Worker


class Command(BaseCommand):
    help = "Hold the terminals of this machine's consoles until stopped (SIGTERM or Ctrl-C)."
    requires_system_checks: list[str] = []

    def handle(self, *args: object, **options: object) -> None:
        os.umask(0o077)
        asyncio.run(_serve())


async def _serve() -> None:
    journal = DatabaseJournal()
    async with Registry(settings.REDIS_URL) as registry:
        worker = Worker(socket_path(), registry, journal)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, worker.stop)
        await worker.serve()
    await asyncio.to_thread(journal.close)


def socket_path() -> Path:
    """Under var/run, or in a private temporary folder where that path would be too long for a socket.

    Sockets of workers that were killed are swept away: nobody listens there any more.
    """
    folder = settings.VAR_DIR / "run"
    for old in folder.glob("terminals-*.sock"):
        if not Path(f"/proc/{old.stem.removeprefix('terminals-')}").exists():
            old.unlink(missing_ok=True)
    path = folder / f"terminals-{os.getpid()}.sock"
    if len(os.fsencode(path)) <= LONGEST_PATH:
        return path
    return Path(tempfile.mkdtemp(prefix="quarterdeck-")) / "terminals.sock"
