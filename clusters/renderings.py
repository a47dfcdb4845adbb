"""What a change means to its platform: which of the files or objects that it is given differ, and where.

Asks no platform: rendering is pure. An old change is rendered as the console would do it today.
"""

from collections.abc import Mapping

from clusters.file_diff import FileDiff, file_diffs
from clusters.models import Change, Revision


def changed_files(change: Change) -> tuple[FileDiff, ...]:
    """Empty for an ending, which has no revision; everything for a creation. Raises what `render` of the port does."""
    if change.revision is None:
        return ()
    return file_diffs(_rendered(change, change.base), _rendered(change, change.revision))


def _rendered(change: Change, revision: Revision | None) -> Mapping[str, str]:
    return change.cluster.provisioner.render(revision.parsed) if revision else {}
