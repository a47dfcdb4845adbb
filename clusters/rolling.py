"""A restart that takes its course: what starts anew, in which order, how many at once, and how far that has come. Pure.

A worker that is told to restart keeps away new jobs first and comes back by itself (`Provisioner.restart`), so all that
is done here is to tell the next one in time. Whether one is back is told from when it came up: that moment differs from
the one before. What was begun is written down before the platform is told, and marked afterwards, so that whoever takes
over from a killed worker tells it again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from clusters.acts import PartKind, Reboot, RestartPart
from clusters.hostlist import fold
from clusters.observation import NodeSeen, Observation, PartState
from clusters.spec import ClusterSpec
from console.words import count, listed

# Services are told from nodes by their names: no node is called so (`clusters.spec`).
SERVICES = frozenset({PartKind.CONTROLLER.value, PartKind.LOGIN.value})
# Reasons that the console gave a node itself.
OURS = "quarterdeck:"


@dataclass(frozen=True)
class Begun:
    """What was so before a restart: when it had come up, and why it was out of service, if it was."""

    since: datetime | None = None
    reason: str = ""
    is_told: bool = False


@dataclass(frozen=True)
class Course:
    """`targets` are names of nodes, or one service, in their order; `when_idle`, each waits for its jobs. `left_out`
    are nodes that somebody had drained when it was their turn."""

    targets: tuple[str, ...]
    at_once: int = 1
    when_idle: bool = False
    begun: Mapping[str, Begun] = field(default_factory=dict)
    done: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        return len(self.done) + len(self.left_out) == len(self.targets)

    @property
    def remaining(self) -> tuple[str, ...]:
        over = {*self.done, *self.left_out}
        return tuple(name for name in self.targets if name not in over)

    @property
    def under_way(self) -> tuple[str, ...]:
        return tuple(name for name in self.remaining if name in self.begun)

    @property
    def untouched(self) -> tuple[str, ...]:
        return tuple(name for name in self.remaining if name not in self.begun)


@dataclass(frozen=True)
class Look:
    """What one observation says of each target that is not over yet: it is back, was left out, waits for its jobs, is
    coming up, or is to be told now, with what is so before."""

    back: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    starting: tuple[str, ...] = ()
    tell: Mapping[str, Begun] = field(default_factory=dict)


def look(course: Course, seen: Observation) -> Look:
    sights = {name: _Sight.of(name, seen) for name in course.remaining}
    back, waiting, starting, tell = [], [], [], {}
    for name, begun in course.begun.items():
        if name not in sights:
            continue
        sight = sights[name]
        if sight.is_back(begun):
            back.append(name)
        elif sight.has_moved(begun) or (begun.is_told and not course.when_idle):
            starting.append(name)
        elif begun.is_told:
            waiting.append(name)
        elif sight.is_known:
            tell[name] = begun
    fresh = [name for name in course.remaining if name not in course.begun and sights[name].is_known]
    left_out = [name for name in fresh if course.when_idle and sights[name].is_held]
    free = course.at_once - len(waiting) - len(starting) - len(tell)
    for name in [name for name in fresh if name not in left_out][: max(0, free)]:
        tell[name] = sights[name].before
    return Look(tuple(back), tuple(left_out), tuple(waiting), tuple(starting), tell)


def moved_on(course: Course, found: Look) -> Course:
    return replace(course, done=(*course.done, *found.back), left_out=(*course.left_out, *found.left_out))


def begun(course: Course, name: str, before: Begun, *, is_told: bool) -> Course:
    return replace(course, begun={**course.begun, name: replace(before, is_told=is_told)})


def hurried(course: Course) -> Course:
    """Nothing is waited for any more: those that wait are told anew."""
    untold = {name: replace(one, is_told=False) for name, one in course.begun.items()}
    return replace(course, when_idle=False, begun=untold)


@dataclass(frozen=True)
class Standing:
    """Which targets are where, as host lists."""

    done: str
    begun: str
    untouched: str
    left_out: str


def standing(course: Course) -> Standing:
    return Standing(*map(fold, (course.done, course.under_way, course.untouched, course.left_out)))


def let_go(course: Course, found: Look) -> Course:
    """When nobody else is told: those that are back count, and those that wait for their turn have not begun."""
    free = (*found.back, *found.starting)
    begun = {name: one for name, one in course.begun.items() if name in course.done or name in free}
    return replace(course, begun=begun, done=(*course.done, *found.back))


def act_of_course(course: Course, spec: ClusterSpec) -> RestartPart | Reboot:
    """What is left of it, as an act."""
    if course.targets[0] in SERVICES:
        return RestartPart(spec, PartKind(course.targets[0]))
    return Reboot(spec, course.remaining, course.when_idle, course.at_once)


def title(course: Course) -> str:
    if course.targets[0] in SERVICES:
        part = PartKind(course.targets[0])
        return f"Restart the {'login node' if part is PartKind.LOGIN else part.value}"
    few = len(course.targets) <= 3
    what = listed(list(course.targets)) if few else count(len(course.targets), "worker")
    pace = f", {course.at_once} at a time" if course.at_once < len(course.targets) else ""
    return f"Restart {what}{pace}{', each when its jobs have ended' if course.when_idle else ''}"


def progress(course: Course) -> str:
    """`3 of 8 have restarted`; with what was left out."""
    so_far = f"{len(course.done)} of {len(course.targets)} {_has(len(course.done))} restarted"
    return f"{so_far}, {len(course.left_out)} left out" if course.left_out else so_far


def end_words(course: Course) -> str:
    """How far it came, with names: `1 of 3 has restarted (n1). On the way: n2. Not restarted: n3.`"""
    names = standing(course)
    so_far = f"{len(course.done)} of {len(course.targets)} {_has(len(course.done))} restarted"
    parts = (
        f"{so_far} ({names.done})." if names.done else f"{so_far}.",
        f"On the way: {names.begun}." if names.begun else "",
        f"Not restarted: {names.untouched}." if names.untouched else "",
        f"Left out, being drained: {names.left_out}." if names.left_out else "",
    )
    return " ".join(filter(None, parts))


def wait_words(course: Course, found: Look) -> str:
    waits = [f"Waits for the jobs on {listed(list(found.waiting))} to end."] if found.waiting else []
    starts = [*found.starting, *found.tell]
    comes = [f"{listed(starts)} {'is' if len(starts) == 1 else 'are'} coming up."] if starts else []
    return " ".join([f"{progress(course)}.", *comes, *waits])


def _has(number: int) -> str:
    return "has" if number == 1 else "have"


def to_json(course: Course) -> dict[str, object]:
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(course))
    return plain


def from_json(data: object) -> Course:
    """Raises `msgspec.ValidationError`."""
    return msgspec.convert(data, Course, strict=False)


@dataclass(frozen=True)
class _Sight:
    """One target in an observation. A node without a controller that tells of it is not known."""

    is_up: bool
    since: datetime | None
    is_service: bool
    node: NodeSeen | None

    @classmethod
    def of(cls, name: str, seen: Observation) -> "_Sight":
        parts = [part for part in seen.parts if (part.kind if name in SERVICES else part.name) == name]
        moments = [part.since for part in parts if part.since]
        is_up = bool(parts) and all(part.state is PartState.UP for part in parts)
        node = next((node for node in seen.nodes or () if node.name == name), None)
        return cls(is_up, max(moments, default=None), name in SERVICES, node)

    @property
    def is_known(self) -> bool:
        return self.is_service or self.node is not None

    @property
    def is_held(self) -> bool:
        """Somebody drained it, and not for this."""
        node = self.node
        return node is not None and "DRAIN" in node.state.flags and not node.reason.startswith(OURS)

    @property
    def before(self) -> Begun:
        held = self.node.reason if self.node and self.is_held else ""
        return Begun(self.since, held)

    def has_moved(self, begun: Begun) -> bool:
        return not self.is_up or self.since != begun.since

    def is_back(self, begun: Begun) -> bool:
        if not self.is_up or self.since == begun.since:
            return False
        if self.is_service:
            return True
        is_as_before = bool(self.node and begun.reason and self.node.reason == begun.reason)
        return self.node is not None and (self.node.state.takes_jobs or is_as_before)
