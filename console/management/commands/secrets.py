"""`manage.py secrets rotate`."""

from argparse import RawDescriptionHelpFormatter
from collections import Counter
from textwrap import dedent
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from console import events
from console.rotation import Turn, rotate


class Command(BaseCommand):
    help = dedent("""\
        rotate: seal every secret anew under the newest of SEALING_KEYS (the first line of secrets/sealing_keys).
        1. Put a new key above the others: 32 random bytes in URL-safe base64
           (`openssl rand -base64 32 | tr '+/' '-_'`).
        2. Restart every process of the console, so that all of them open both.
        3. Run this. It may be stopped at any moment and run again; it takes one secret at a time.
        4. When it says that every secret is under the newest key, remove the old lines and restart again.
        Exit status 1 when a secret cannot be opened: then keep the old keys, and look for the missing one.""")

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["rotate"])

    def handle(self, *args: object, act: str, **options: object) -> None:
        turns: Counter[Turn] = Counter()
        for turned in rotate():
            turns[turned.turn] += 1
            if turned.turn is Turn.LOST:
                self.stderr.write(f"{turned.secret}: {turned.turn}")
        said = ", ".join(f"{turns[turn]} {turn}" for turn in Turn)
        events.record(
            "secrets.rotate", by=None, outcome="failed" if turns[Turn.LOST] else "done", detail={"why": said}
        )
        if turns[Turn.LOST]:
            raise CommandError(f"{said}. Keep the old keys.")
        self.stdout.write(f"{said}. Every secret is under the newest key: the older ones may go.")
