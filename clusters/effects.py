"""The effects of a change: what each asks of the platform, and which outcome its answer is.

Called by `clusters.run` only. Nothing here decides where the change goes. A platform that cannot tell
(Unavailable) is asked again until the deadline; anything else that it raises is evidence.
"""

from collections.abc import Callable
from dataclasses import asdict

from django.conf import settings

from clusters.leases import Clock, Lease
from clusters.machine import Effect, Kind, Outcome
from clusters.models import Change, Revision
from clusters.observation import Judgement, Verdict
from clusters.provisioner import Provisioner
from clusters.show import show_change
from clusters.spec import ClusterSpec
from console.errors import ConsoleError, Problem, Rejected, Unavailable

VERDICTS = {
    Verdict.DONE: Outcome.GOOD,
    Verdict.WAITING: Outcome.WAITING,
    Verdict.APPLY_AGAIN: Outcome.AGAIN,
    Verdict.HOPELESS: Outcome.HOPELESS,
}


class Work:
    """One worker's work on one change. `why` is the latest reason, kept for the sentence that an end needs."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.clock: Clock = lease.clock
        self.why = lease.change.why
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
            self.why = f"Cancelled by {who}."
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
    return Outcome.GOOD


def apply(work: Work) -> Outcome:
    return _written(work, work.revision.parsed, force=work.change.force)


def observe(work: Work) -> Outcome:
    return _judged(work, work.revision.parsed)


def restore(work: Work) -> Outcome:
    return _written(work, work.base.parsed)


def confirm(work: Work) -> Outcome:
    return _judged(work, work.base.parsed)


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


EFFECTS: dict[Effect, Callable[[Work], Outcome]] = {
    Effect.CHECK: check,
    Effect.APPLY: apply,
    Effect.OBSERVE: observe,
    Effect.RESTORE: restore,
    Effect.CONFIRM: confirm,
    Effect.END: end,
}


def _written(work: Work, spec: ClusterSpec, *, force: bool = False) -> Outcome:
    try:
        work.provisioner.apply(spec, work.say, force=force)
    except Unavailable as error:
        return work.unsure(error)
    except ConsoleError as error:
        return work.refused(error)
    return Outcome.APPLIED


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


def _name_touched_jobs(work: Work) -> None:
    """Say which nodes with jobs on them this change takes away, before it does."""
    if work.change.base is None:
        return
    gone = set(work.base.parsed.node_names) - set(work.revision.parsed.node_names)
    busy = work.change.cluster.nodes.filter(name__in=gone, cpus_allocated__gt=0)
    if names := [str(node) for node in busy]:
        work.say(f"Jobs run on {', '.join(names)}, which this change takes away.", "warn")
