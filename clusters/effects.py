"""The effects of a change: what each asks of the platform, and which outcome its answer is.

Called by `clusters.run` only. Nothing here decides where the change goes. A platform that cannot tell
(Unavailable) is asked again until the deadline; anything else that it raises is evidence.
"""

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta

from django.conf import settings
from django.db import transaction

from clusters import rolling
from clusters.impact import from_json, growth
from clusters.impacts import act_of, promise
from clusters.leases import Clock, Lease
from clusters.locks import locked
from clusters.machine import ChangeStatus, Effect, Kind, Outcome
from clusters.models import Change, Revision
from clusters.observation import Judgement, Verdict
from clusters.provisioner import Provisioner
from clusters.rolling import Begun, Course, Look
from clusters.show import show_change
from clusters.spec import ClusterSpec
from console.errors import ConsoleError, Problem, Rejected, Unavailable
from console.words import listed

# For a part or a node to come back.
RESTART_S = 180
VERDICTS = {
    Verdict.DONE: Outcome.GOOD,
    Verdict.WAITING: Outcome.WAITING,
    Verdict.APPLY_AGAIN: Outcome.AGAIN,
    Verdict.HOPELESS: Outcome.HOPELESS,
}


class Work:
    """One worker's work on one change. `why` is the latest reason, kept for the sentence that an end needs;
    `is_given_up` is that this worker has heard somebody's wish to cancel it, and goes by that."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.clock: Clock = lease.clock
        self.why = lease.change.why
        self.is_given_up = lease.change.status == ChangeStatus.ROLLING_BACK and bool(
            lease.change.cancelled_by_id
        )
        self.said = lease.last_words()
        self.provisioner: Provisioner = lease.change.cluster.provisioner

    @property
    def change(self) -> Change:
        return self.lease.change

    @property
    def revision(self) -> Revision:
        assert self.change.revision is not None, "an ending has no revision and asks for none"
        return self.change.revision

    @property
    def base(self) -> Revision:
        assert self.change.base is not None, "only an edit is rolled back, and it has a base"
        return self.change.base

    def say(self, text: str, tone: str = "ok") -> None:
        """One sentence in the log and on open pages; the same one is not said twice in a row. Raises
        LeaseLost."""
        if text == self.said:
            self.lease.write()
            return
        self.lease.say(text, tone)
        self.said = text
        show_change(self.change)

    def is_cancelled(self) -> bool:
        who = self.lease.cancelled_by()
        if who:
            self.why, self.is_given_up = f"Cancelled by {who}.", True
        return bool(who)

    def late(self, why: str) -> Outcome:
        self.why = why
        return Outcome.LATE

    def refused(self, error: ConsoleError) -> Outcome:
        self.why = f"{error.message} {error.hint}".strip()
        if isinstance(error, Rejected) and error.problems:
            self.keep(error.problems)
        return Outcome.REFUSED

    def unsure(self, error: ConsoleError) -> Outcome:
        self.why = error.message
        self.say(f"{error.message} Trying again.", "warn")
        return Outcome.UNSURE

    def keep(self, problems: tuple[Problem, ...]) -> None:
        self.lease.write(problems=[asdict(problem) for problem in problems])


def check(work: Work) -> Outcome:
    _name_touched_jobs(work)
    if not settings.SHADOW_CHECK:
        work.say("Note: the controller is the first to read it, without a shadow before.", "warn")
    try:
        problems = work.provisioner.check(work.revision.parsed, shadow=settings.SHADOW_CHECK)
    except Unavailable as error:
        return work.unsure(error)
    except Rejected as error:
        problems = error.problems or (Problem("", error.message, error.hint),)
    work.keep(problems)
    if any(problem.blocking for problem in problems):
        work.why = next(problem.message for problem in problems if problem.blocking)
        return Outcome.PROBLEMS
    for problem in problems:
        work.say(f"Note: {problem.message} {problem.hint}".strip(), "warn")
    return _costs_no_more(work)


def hear(work: Work) -> Outcome:
    """Whether somebody has said yes to what the change costs by now."""
    question = work.why or work.change.waits_for
    if _brought_along(work) is Outcome.REFUSED:
        work.say(f"Who signs in is not as it was asked for. {work.why}", "bad")
    work.why = question
    return Outcome.CONFIRMED if work.lease.is_confirmed() else Outcome.PATIENT


def apply(work: Work) -> Outcome:
    return _written(work, work.revision.parsed, force=work.change.force)


def observe(work: Work) -> Outcome:
    outcome = _judged(work, work.revision.parsed)
    if outcome is Outcome.PATIENT and work.change.force:
        return Outcome.AGAIN  # somebody would not wait any longer
    return _resumed(work) if outcome is Outcome.GOOD and work.change.resumes else outcome


def restore(work: Work) -> Outcome:
    return _written(work, work.base.parsed)


def confirm(work: Work) -> Outcome:
    outcome = _judged(work, work.base.parsed)
    return _undone(work) if outcome is Outcome.GOOD else outcome


def end(work: Work) -> Outcome:
    """Deleting ends what may still run as well: a failed cluster was never terminated."""
    try:
        work.provisioner.terminate(work.say)
        if work.change.kind == Kind.DELETE:
            work.provisioner.destroy(work.say)
    except Unavailable as error:
        return work.unsure(error)
    except ConsoleError as error:
        return work.refused(error)
    return Outcome.GOOD


def weigh(work: Work) -> Outcome:
    """A restart is asked of nobody beforehand: what it costs is all that may have changed."""
    return _costs_no_more(work)


def roll(work: Work) -> Outcome:
    """One look at a restart: note who is back, and tell the next ones."""
    if outcome := _brought_along(work):
        return outcome
    course = rolling.from_json(work.change.course)
    if course.when_idle and work.lease.is_forced():
        course = rolling.hurried(course)
    try:
        seen = work.provisioner.observe()
        found = rolling.look(course, seen)
        course = _noted(work, rolling.moved_on(course, found), found)
        for name, before in found.tell.items():
            course = _told(work, course, name, before)
    except Unavailable as error:
        return work.unsure(error)
    except ConsoleError as error:
        return work.refused(error)
    work.why = rolling.wait_words(course, found)
    if course.is_over:
        return Outcome.GOOD
    if seen.nodes is None and work.change.rests:
        return Outcome.PATIENT  # an outage in a wait of days stops nothing
    is_patient = bool(found.waiting) and not found.starting and not found.tell
    return Outcome.PATIENT if is_patient else Outcome.WAITING


def release(work: Work) -> Outcome:
    """Let those that wait for their restart take jobs as before; what is on its way comes up by itself."""
    course = rolling.from_json(work.change.course)
    if not course.when_idle:
        return _undone(work)
    try:
        found = rolling.look(course, work.provisioner.observe())
        if names := [name for name in (*found.waiting, *found.tell) if name in course.begun]:
            work.provisioner.resume(names)
            work.say(f"{listed(names)} take{'s' if len(names) == 1 else ''} jobs as before.")
    except Unavailable as error:
        return work.unsure(error)
    except ConsoleError as error:
        return work.refused(error)
    work.lease.write(course=rolling.to_json(rolling.let_go(course, found)))
    return _undone(work)


EFFECTS: dict[Effect, Callable[[Work], Outcome]] = {
    Effect.CHECK: check,
    Effect.HEAR: hear,
    Effect.APPLY: apply,
    Effect.OBSERVE: observe,
    Effect.RESTORE: restore,
    Effect.CONFIRM: confirm,
    Effect.END: end,
    Effect.WEIGH: weigh,
    Effect.ROLL: roll,
    Effect.RELEASE: release,
}


def _undone(work: Work) -> Outcome:
    """The end of the way back, by whose wish it was."""
    return Outcome.CANCELLED if work.is_given_up else Outcome.GOOD


def _noted(work: Work, course: Course, found: Look) -> Course:
    """Written down before anybody is told; time for the next ones begins with each that is back."""
    if found.back or found.left_out:
        until = work.clock.now() + timedelta(seconds=RESTART_S)
        work.lease.write(course=rolling.to_json(course), deadline=until)
    for name in found.left_out:
        work.say(f"{name} is left out: somebody has drained it.", "warn")
    for name in found.back:
        work.say(f"{name} has restarted: {rolling.progress(course)}.")
    return course


def _told(work: Work, course: Course, name: str, before: Begun) -> Course:
    course = rolling.begun(course, name, before, is_told=False)
    work.lease.write(course=rolling.to_json(course))
    said: list[str] = []
    work.provisioner.restart(name, said.append, when_idle=course.when_idle)
    course = rolling.begun(course, name, before, is_told=True)
    until = work.clock.now() + timedelta(seconds=RESTART_S)
    work.lease.write(course=rolling.to_json(course), deadline=until)
    for sentence in said:
        work.say(sentence, "busy")
    return course


def _written(work: Work, spec: ClusterSpec, *, force: bool = False) -> Outcome:
    try:
        work.provisioner.apply(spec, work.say, force=force)
    except Unavailable as error:
        if work.change.takes_along and work.change.rests:
            work.why = error.message
            return Outcome.PATIENT  # as in `_judged`
        return work.unsure(error)
    except ConsoleError as error:
        return work.refused(error)
    if work.change.takes_along:
        _people_are_current(work)
    return Outcome.APPLIED


def _brought_along(work: Work) -> Outcome | None:
    """Of a change that writes nothing of its own: who signs in by now is written first. An outcome where it is not."""
    if not work.change.takes_along:
        return None
    outcome = _written(work, work.base.parsed)
    return None if outcome is Outcome.APPLIED else outcome


def _people_are_current(work: Work) -> None:
    """In the order in which `clusters.along` locks the two rows."""
    with transaction.atomic():
        cluster = locked(work.change.cluster_id)
        work.lease.write(takes_along=False)
        cluster.revision = work.base
        cluster.save(update_fields=["revision"])
    work.change.cluster.revision = work.base
    work.say("Who signs in is as it was asked for meanwhile.")


def _judged(work: Work, spec: ClusterSpec) -> Outcome:
    try:
        judgement = work.provisioner.judge(spec)
    except Unavailable as error:
        # What cannot be told leaves a patient wait as it is: an outage of an hour in a wait of days rolls nothing back.
        judgement = Judgement(Verdict.WAITING, error.message, patient=work.change.rests)
    work.why = judgement.why
    is_patient = judgement.verdict is Verdict.WAITING and judgement.patient
    # A wait of days is said as it begins; how it stands is in `waits_for`, which the page shows.
    if judgement.verdict is Verdict.WAITING and judgement.why and not work.change.rests:
        work.say(judgement.why, "busy")
    return Outcome.PATIENT if is_patient else VERDICTS[judgement.verdict]


def _resumed(work: Work) -> Outcome:
    """Let the nodes of the change take jobs again: those that are out for the reason that they were asked back from. A
    refusal does not undo what already holds."""
    asked, nodes = work.change.resumes, work.change.cluster.nodes
    reasons = dict(nodes.filter(name__in=asked).values_list("name", "reason"))
    names = [name for name, reason in asked.items() if reasons.get(name) == reason]
    if not names:
        return Outcome.GOOD
    try:
        work.provisioner.resume(names)
        work.say(f"{listed(names)} take{'s' if len(names) == 1 else ''} jobs again.")
    except Unavailable as error:
        work.why = error.message
        return Outcome.WAITING
    except ConsoleError as error:
        work.say(f"{listed(names)} could not be resumed: {error.message} {error.hint}".strip(), "warn")
    return Outcome.GOOD


def _costs_no_more(work: Work) -> Outcome:
    """What runs changes while a change waits for its turn. Between days it is other jobs in any case: see `growth`."""
    change, act = work.change, act_of(work.change)
    if act is None or change.impact is None:
        return Outcome.GOOD
    more = growth(from_json(change.impact), promise(change.cluster, act), by_name=change.start_at is None)
    work.why = " ".join(more)
    return Outcome.GREW if more else Outcome.GOOD


def _name_touched_jobs(work: Work) -> None:
    """Say which nodes with jobs on them this change takes away, before it does."""
    if work.change.base is None:
        return
    gone = set(work.base.parsed.node_names) - set(work.revision.parsed.node_names)
    busy = work.change.cluster.nodes.filter(name__in=gone, cpus_allocated__gt=0)
    if names := [str(node) for node in busy]:
        work.say(f"Jobs run on {', '.join(names)}, which this change takes away.", "warn")
