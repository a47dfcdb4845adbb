"""A cluster's slurm.conf as people edit it: the whole file, of which their own block may change.

The acts behind the configuration page and the API. A text comes as the whole file with the platform's lines in it, or
(from scripts) as the block alone; problems carry lines of the text that the person sees. Nothing here touches the
cluster: `propose_conf` asks for a change, `review` lets a shadow controller read a copy.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

from clusters import changes
from clusters.access import Door
from clusters.models import Change, Cluster, Revision
from clusters.spec import ClusterSpec
from clusters.validate import MOST_CONF_BYTES, MOST_CONF_LINES, validate
from clusters.when import When
from console.errors import Conflict, Problem, Rejected, Unavailable
from console.words import count
from slurm.checks.conf import PATH, check_conf
from slurm.conf import parse
from slurm.containers import known_containers
from slurm.effects import LineChange, line_diff, total_cost
from slurm.parameters import Cost
from slurm.render import BEGIN, END, RenderedConf, outbreaks, rendered_in, user_part

_NUMBERED = re.compile(r"\ALine \d+: ")
PLUGINS = "PlugStackConfig"


@dataclass(frozen=True)
class Configuration:
    """One revision's file. `first_line` to `last_line` (1-based, inclusive) are the user's; last < first when there
    are none. `drift` is a diff of the controller's own file against what was applied; empty when they agree."""

    revision: int
    text: str
    first_line: int
    last_line: int
    drift: str
    version: str

    @property
    def settings(self) -> str:
        """The user's block alone."""
        lines = self.text.split("\n")[self.first_line - 1 : self.last_line]
        return "".join(f"{line}\n" for line in lines)

    def with_settings(self, settings: str) -> str:
        """The whole file with another block between its markers."""
        lines = self.text.split("\n")
        block = settings.removesuffix("\n").split("\n") if settings else []
        return "\n".join([*lines[: self.first_line - 1], *block, *lines[self.last_line :]])


@dataclass(frozen=True)
class Review:
    """What a text would mean. `lines` are all lines of both texts in reading order, unchanged ones as `same`."""

    base: int
    settings: str
    problems: tuple[Problem, ...]
    lines: tuple[LineChange, ...]
    cost: Cost
    jobs: str

    @property
    def is_refused(self) -> bool:
        return any(problem.blocking for problem in self.problems)

    @property
    def changed(self) -> tuple[LineChange, ...]:
        return tuple(line for line in self.lines if line.op != "same")


def read(cluster: Cluster) -> Configuration:
    """The current revision's file; the newest one's while none has been committed yet. Quick."""
    revision = cluster.revision or cluster.revisions.latest("number")
    return _configuration(cluster, revision)


def read_revision(cluster: Cluster, number: int | None) -> Configuration:
    """The file of one revision. Raises Conflict when there is none of that number."""
    return _configuration(cluster, _revision(cluster, number))


def review(cluster: Cluster, text: str, *, base: int | None, shadow: bool) -> Review:
    """What speaks against the whole file `text`, written over revision `base`, and what it would cost.

    With `shadow` the platform reads it as well (at most 12 s) once nothing else speaks against it. Raises Conflict for
    an unknown base.
    """
    revision = _revision(cluster, base)
    before = _configuration(cluster, revision)
    text = text.replace("\r\n", "\n")
    if too_long := _too_long(text, before):
        return Review(before.revision, text, (too_long,), (), Cost.NONE, "")
    part = user_part(text, RenderedConf(before.text, before.first_line, before.last_line))
    spec = revision.parsed.with_slurm_conf(part.text)
    first = _first_line(text, before)
    problems = (*part.problems, *(_written(spec, first) if _has_block(text) else ()))
    if known_containers(cluster):
        problems = (*problems, *_other_plugins(revision.parsed.slurm_conf, spec.slurm_conf))
    if shadow and not any(problem.blocking for problem in problems):
        problems = _with_platforms(problems, _asked(cluster, spec), first)
    lines = line_diff(before.text, text, version=spec.slurm_version)
    cost = total_cost(lines)
    in_order = tuple(sorted(problems, key=lambda problem: problem.line or 0))
    return Review(before.revision, part.text, in_order, lines, cost, _jobs(cluster, cost))


def propose_conf(door: Door, text: str, base: int | None, *, start_at: When = None) -> Change:
    """Ask for the change. Raises Rejected with lines of `text`, and what `clusters.changes.propose` raises."""
    found = review(door.cluster, text, base=base, shadow=False)
    if found.is_refused:
        first = next(problem.message for problem in found.problems if problem.blocking)
        raise Rejected(f"slurm.conf cannot be applied: {first}", found.problems)
    spec = _revision(door.cluster, base).parsed.with_slurm_conf(found.settings)
    return changes.propose(door.cluster, spec, base=base, by=door.membership, start_at=start_at)


def in_file(problem: Problem, first_line: int) -> Problem:
    """A problem of the user's block with its line counted in the whole file, in its sentence too."""
    if problem.path != PATH or problem.line is None:
        return problem
    line = problem.line + first_line - 1
    return replace(problem, line=line, message=_NUMBERED.sub(f"Line {line}: ", problem.message))


def shown_of(stored: Mapping[str, object], first_line: int) -> Problem:
    """A problem as a change keeps it, with its line in the whole file and its sentence without the line's number."""
    known = {field.name for field in fields(Problem)}
    problem = Problem(**{key: value for key, value in stored.items() if key in known})  # type: ignore[arg-type]
    return unnumbered(in_file(problem, first_line))


def unnumbered(problem: Problem) -> Problem:
    """For pages that show the line apart from the sentence."""
    text = _NUMBERED.sub("", problem.message)
    return replace(problem, message=text[:1].upper() + text[1:])


def _configuration(cluster: Cluster, revision: Revision) -> Configuration:
    spec = revision.parsed
    conf = rendered_in(cluster.provisioner.render(spec), spec)
    return Configuration(
        revision=revision.number,
        text=conf.text,
        first_line=conf.user_first_line,
        last_line=conf.user_last_line,
        drift=cluster.observed_drift,
        version=spec.slurm_version,
    )


def _revision(cluster: Cluster, number: int | None) -> Revision:
    found = cluster.revisions.filter(number=number).first() if number is not None else None
    if found is None:
        raise Conflict(
            f"{cluster.slug} has no revision {number}.",
            "Say which revision you began with; open the page again.",
        )
    return found


def _too_long(text: str, before: Configuration) -> Problem | None:
    """Of what nobody would apply no line is read: that alone would take minutes."""
    if len(text) > MOST_CONF_BYTES + len(before.text):
        return Problem(PATH, f"At most {MOST_CONF_BYTES // 1024} KiB beside the platform's lines.")
    if text.count("\n") > MOST_CONF_LINES + before.text.count("\n"):
        return Problem(PATH, f"At most {MOST_CONF_LINES} lines beside the platform's.")
    return None


def _has_block(text: str) -> bool:
    lines = text.split("\n")
    return BEGIN in lines and END in lines


def _first_line(text: str, before: Configuration) -> int:
    """Where the block begins in the text as it now is: lines may have been put above it."""
    lines = text.split("\n")
    return lines.index(BEGIN) + 2 if BEGIN in lines else before.first_line


def _other_plugins(before: str, after: str) -> Iterator[Problem]:
    """Where jobs run in container images, another list of plugins may end that."""
    if parse(before).get(PLUGINS) != parse(after).get(PLUGINS):
        yield Problem(
            PATH,
            f"{PLUGINS} is another list of plugins, and Pyxis is in the one of now.",
            "Jobs run in container images (--container-image) only where the new list has Pyxis, too.",
            blocking=False,
        )


def _written(spec: ClusterSpec, first: int) -> Iterator[Problem]:
    """What the text alone shows: beyond its block, the catalogue, and what a spec may hold."""
    text = spec.slurm_conf
    for number, why in outbreaks(text):
        message = f"Line {number + first - 1}: this line {why}."
        yield Problem(PATH, message, "Take it out.", number + first - 1)
    found = check_conf(text, version=spec.slurm_version, node_names=spec.node_names, first_line=first)
    yield from found
    if not any(problem.blocking for problem in found):
        yield from (problem for problem in validate(spec) if problem.path == PATH)


def _asked(cluster: Cluster, spec: ClusterSpec) -> tuple[Problem, ...]:
    try:
        return cluster.provisioner.check(spec, shadow=True)
    except Rejected as refusal:
        return refusal.problems or (Problem(PATH, refusal.message, refusal.hint),)
    except Unavailable as error:
        return (
            Problem(
                "", error.message, "The change itself asks again before anything is touched.", blocking=False
            ),
        )


def _with_platforms(
    mine: tuple[Problem, ...], theirs: tuple[Problem, ...], first: int
) -> tuple[Problem, ...]:
    """Both, what they agree on once."""
    moved = (in_file(problem, first) for problem in theirs)
    return (*mine, *(problem for problem in moved if problem not in mine))


def _jobs(cluster: Cluster, cost: Cost) -> str:
    if cost is Cost.NONE:
        return "no daemon reads anything new"
    if cost is Cost.RECONFIGURE:
        return "reconfigure is enough, no job is touched"
    running = cluster.jobs.filter(is_finished=False).exclude(nodes="").count()
    return (
        f"daemons restart, {count(running, 'running job goes', 'running jobs go')} on and the queue is kept"
    )
