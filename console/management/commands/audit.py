"""`manage.py audit verify`."""

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.audit import missing_from, verify
from console.errors import ConsoleError


class Command(BaseCommand):
    help = (
        "verify: walk the audit trail's hash chains (one for each team) and name the first event of each that was "
        "changed, or before which one is missing; exit status 1 if there is any. Events are kept for ever: the "
        "console never deletes one, and the database refuses to. A chain whose last events were cut off still fits; "
        "--sink compares it with the file of QUARTERDECK_AUDIT_SINK, which should lie on another machine."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["verify"])
        parser.add_argument("--sink", type=Path, help="a file that the sink wrote (JSON lines)")

    def handle(self, *args: object, act: str, sink: Path | None, **options: object) -> None:
        try:
            faults = self._chains() + self._sink(sink)
        except ConsoleError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        if faults:
            raise CommandError("The audit trail is not whole:\n" + "\n".join(faults))

    def _chains(self) -> list[str]:
        faults = []
        for chain in verify():
            self.stdout.write(f"{chain.name}: {chain.events} events fit, the last is {chain.digest}")
            if chain.fault:
                faults.append(f"{chain.name}: {chain.fault}")
        return faults

    def _sink(self, sink: Path | None) -> list[str]:
        try:
            return list(missing_from(sink)) if sink else []
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"{sink} cannot be read as the sink's file: {error}") from error
