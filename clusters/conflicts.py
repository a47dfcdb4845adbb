"""Why a change cannot be asked for now: another one is on its way, or came first."""

from clusters.diff import FieldChange, sentence
from clusters.models import Change, Revision
from console.errors import Conflict


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
    """Another change of the cluster is on its way."""

    code = "change-live"

    def __init__(self, live: Change) -> None:
        super().__init__(
            f"Change {live.number} of {live.cluster.slug} is {live.status}: {live.summary}.",
            "One change at a time: wait until it has ended.",
        )
        self.change = live
