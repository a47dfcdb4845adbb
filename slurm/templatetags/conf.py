"""What a change's page loads to show the problems of slurm.conf beside their lines."""

from dataclasses import asdict, dataclass

from django import template
from django.urls import reverse

from clusters.models import Change
from console.errors import ConsoleError
from slurm.checks.conf import PATH
from slurm.configuration import Configuration, read_revision, shown_of

register = template.Library()
AROUND = 2


@dataclass(frozen=True)
class NumberedLine:
    number: int
    text: str


@dataclass(frozen=True)
class AtLine:
    """One problem of a change. `lines` are those around its own, none where it has none; `editor` opens the change's
    text there, empty where the change has no text of its own."""

    path: str
    message: str
    hint: str
    blocking: bool
    line: int | None
    lines: tuple[NumberedLine, ...]
    editor: str

    @property
    def is_conf(self) -> bool:
        return self.path == PATH


@register.simple_tag
def conf_problems(change: Change) -> list[AtLine]:
    """The change's problems, those of slurm.conf with lines of the whole file as the change would have written it."""
    conf = _conf(change)
    return [_at_line(change, problem, conf) for problem in change.problems]


def _conf(change: Change) -> Configuration | None:
    if change.revision is None or not any(problem.get("path") == PATH for problem in change.problems):
        return None
    try:
        return read_revision(change.cluster, change.revision.number)
    except (ConsoleError, ValueError):
        # A revision that could not even be rendered has no lines to show; what went wrong is said all the same.
        return None


def _at_line(change: Change, stored: dict[str, object], conf: Configuration | None) -> AtLine:
    problem = shown_of(stored, conf.first_line if conf else 1)
    is_conf = problem.path == PATH and conf is not None
    around = _around(conf, problem.line) if conf and is_conf and problem.line else ()
    editor = _editor(change, problem.line) if is_conf else ""
    plain = asdict(problem)
    return AtLine(**plain, lines=around, editor=editor)


def _around(conf: Configuration, line: int) -> tuple[NumberedLine, ...]:
    lines = conf.text.split("\n")
    first, last = max(1, line - AROUND), min(len(lines) - 1, line + AROUND)
    return tuple(NumberedLine(number, lines[number - 1]) for number in range(first, last + 1))


def _editor(change: Change, line: int | None) -> str:
    where = {"team": change.cluster.team.slug, "cluster": change.cluster.slug}
    at = f"#L{line}" if line else ""
    return f"{reverse('slurm-conf', kwargs=where)}?from={change.number}{at}"
