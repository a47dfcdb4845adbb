"""An executor that answers from a script, for what a real controller can not be made to do on demand."""

from collections.abc import Callable, Sequence

from clusters.provisioner import Completed
from console.errors import Unavailable
from slurm.outputs.detail import LABELS
from slurm.outputs.queue import FIELDS


class Scripted:
    """`answers` maps a command's first words to what it prints (bytes), how it ends (Completed) or a
    refusal."""

    def __init__(
        self, answers: dict[str, "bytes | Completed | Unavailable | Callable[[Sequence[str]], bytes]"]
    ) -> None:
        self.answers = answers
        self.asked: list[list[str]] = []

    def run_each(self, commands: Sequence[Sequence[str]], *, timeout_s: float = 4.0) -> tuple[Completed, ...]:
        return tuple(self.run(command, timeout_s=timeout_s) for command in commands)

    def run(self, argv: Sequence[str], *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        self.asked.append(list(argv))
        answer = next(found for words, found in self.answers.items() if " ".join(argv).startswith(words))
        if isinstance(answer, Unavailable):
            raise answer
        if isinstance(answer, Completed):
            return answer
        return Completed(0, answer(argv) if callable(answer) else answer, "")


def queue(rows: Sequence[dict[str, bytes]]) -> Callable[[Sequence[str]], bytes]:
    """Answers a call of squeue in whatever marks it asks for."""

    def answer(argv: Sequence[str]) -> bytes:
        parts = [part.split(":", 1) for part in argv[argv.index("-O") + 1].split(",")]
        names = tuple(name for name, _ in parts)
        assert names in (FIELDS, tuple(LABELS))
        return b"".join(
            b"".join(row.get(n, b"1") + mark.encode() for n, mark in parts) + b"\n" for row in rows
        )

    return answer
