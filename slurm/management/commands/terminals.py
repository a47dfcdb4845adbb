"""`manage.py terminals`: the process that holds people's terminals and moves their files. Restarting the web server
ends no terminal."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from slurm.files.server import FileServer
from slurm.terminal import reach
from slurm.terminal.journal import DatabaseJournal
from slurm.terminal.limits import Limits
from slurm.terminal.recorder import Store
from slurm.terminal.registry import Registry
from slurm.terminal.rights import DatabaseRights
from slurm.terminal.worker import Worker


class Command(BaseCommand):
    help = "Hold the terminals of this machine's consoles until stopped (SIGTERM or Ctrl-C)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--listen",
            default="",
            metavar="HOST:PORT",
            help="Serve the web's processes on other machines by mutual TLS, here and at the next port, instead of a "
            "unix socket. HOST is the address by which they reach this one.",
        )

    def handle(self, *args: object, **options: object) -> None:
        address = f"{reach.TLS}{options['listen']}" if options["listen"] else socket_path()
        try:
            reach.check(address)
        except ValueError as error:
            raise CommandError(str(error)) from error
        before = os.umask(0o077)
        try:
            # Much of what a terminal costs is the event loop's own work (`python -m tests.bench terminal`).
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(address))
        finally:
            # A process goes on after this where a program calls the command: it keeps its own.
            os.umask(before)


async def _serve(address: str) -> None:
    journal = DatabaseJournal()
    async with Registry(settings.REDIS_URL) as registry:
        worker = Worker(address, registry, journal, DatabaseRights(), recordings(), limits())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, worker.stop)
        files = FileServer(reach.beside(address))
        await files.start()
        try:
            await worker.serve()
        finally:
            await files.close()
    await asyncio.to_thread(journal.close)


def recordings() -> Store:
    each, in_all = settings.TERMINAL_RECORDING_MIB << 20, settings.TERMINAL_RECORDINGS_MIB << 20
    return Store(settings.TERMINAL_RECORDINGS_DIR, each, in_all)


def limits() -> Limits:
    return Limits(settings.TERMINAL_IDLE_S, settings.TERMINAL_MOST_S).fitted()


def socket_path() -> str:
    """Under var/run, or in a private temporary folder where the paths would be too long for sockets.

    Sockets of workers that were killed are swept away: nobody listens there any more.
    """
    folder = settings.VAR_DIR / "run"
    for old in folder.glob("terminals-*.*"):
        if not Path(f"/proc/{old.stem.removeprefix('terminals-')}").exists():
            old.unlink(missing_ok=True)
    path = str(folder / f"terminals-{os.getpid()}.sock")
    if len(os.fsencode(reach.beside(path))) <= reach.LONGEST_PATH:
        return path
    return str(Path(tempfile.mkdtemp(prefix="quarterdeck-")) / "terminals.sock")
