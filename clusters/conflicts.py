"""Why a change cannot be asked for now: another one is on its way, or came first."""

from django.urls import reverse
from django.utils import timezone

from clusters.diff import FieldChange, sentence
from clusters.machine import ChangeStatus
from clusters.models import Change, Revision
from console.errors import Conflict
from console.words import duration


class StaleBase(Conflict):
    """The form was opened on a revision that is no longer current. Both diffs are from that revision."""

    code = "stale-base"

    def __init__(
        self,
        base: Revision,
        current: Revision,
        theirs: tuple[FieldChange, ...],
        yours: tuple[FieldChange, ...],
    ) -> None:
        super().__init__(
            f"Revision {current.number} became current while you worked on revision {base.number}"
            f" ({sentence(theirs)}).",
            "Compare the two, then make your change again on the current revision.",
        )
        self.base, self.current, self.theirs, self.yours = base, current, theirs, yours


class Busy(Conflict):
    """Another change of the cluster is on its way: which, since when, and what this person may do about it.
    `may_answer`: whether the person may cancel it, or say that it is to wait no longer."""

    code = "change-live"

    def __init__(self, live: Change, *, may_answer: bool = False) -> None:
        since = (live.rests_since if live.rests else live.begun_at) or live.at
        lasts = duration((timezone.now() - since).total_seconds())
        is_so = "waits" if live.rests else f"is {live.status}"
        waits_for = f" {live.waits_for}" if live.rests and live.waits_for else ""
        super().__init__(
            f"Change {live.number} of {live.cluster.slug} {is_so}, since {since:%Y-%m-%d %H:%M} UTC ({lasts}): "
            f"{live.summary}.{waits_for}",
            _hint(live, may_answer=may_answer),
        )
        self.change, self.since = live, since
        self.can_cancel = may_answer and live.can_be_cancelled
        self.can_force = may_answer and live.can_be_forced

    @property
    def facts(self) -> dict[str, object]:
        """`cancel` and `force` are where to POST, null where this person cannot."""
        live = self.change
        where = {"team": live.cluster.team.slug, "cluster": live.cluster.slug, "number": live.number}
        return {
            "change": {
                "number": live.number,
                "kind": live.kind,
                "status": live.status,
                "summary": live.summary,
                "since": self.since.isoformat(),
                "waits_for": live.waits_for,
                "cancel": reverse("api-change-cancel", kwargs=where) if self.can_cancel else None,
                "force": reverse("api-change-force", kwargs=where) if self.can_force else None,
            }
        }


def _hint(live: Change, *, may_answer: bool) -> str:
    ways = ["cancel it"] if live.can_be_cancelled else []
    ways += ["have it wait no longer for the jobs"] if live.can_be_forced else []
    if live.status == ChangeStatus.ASKING:
        ways = ["say yes to what it costs by now", *ways]
    if not ways or not live.rests:
        return "One change at a time: wait until it has ended."
    who = "" if may_answer else "Somebody who may change the cluster can "
    sentence = f"{who}{' or '.join(ways)}."
    return f"One change at a time: wait until it has ended. {sentence[:1].upper()}{sentence[1:]}"
