"""From which Slurm release to which a cluster may be taken in one step. Pure.

The rule is Slurm's own (slurm.schedmd.com/upgrades.html, Compatibility Window): a release takes over state, database
and running jobs from the three releases before it, one older than 24.11 from the two before it; from any other its
daemons refuse to start. It does not go back (the same, Reverting an Upgrade): daemons rewrite their state and the
database as they first start. What an upgrade that fails half-way does about that is the provisioner's.
"""

from collections.abc import Iterator
from dataclasses import replace

from clusters.diff import diff
from clusters.spec import ClusterSpec
from console.errors import Problem

# Named by year and month. Since 24.05 there is one in May and one in November.
IRREGULAR = ("21.08", "22.05", "23.02", "23.11")
THREE_BACK_SINCE = "24.11"
GUIDE = "Slurm's Upgrade Guide, slurm.schedmd.com/upgrades.html"


def upgrade_problems(before: ClusterSpec, after: ClusterSpec) -> tuple[Problem, ...]:
    """Why the image of `before` cannot become that of `after`, at `image`; empty when it can, or stays."""
    if before.image == after.image and before.slurm_version == after.slurm_version:
        return ()
    return (*_step(before.slurm_version, after.slurm_version), *_company(before, after))


def takes_over_from(version: str) -> tuple[str, ...]:
    """The releases that `version` can follow, the newest first. Empty for what is no release of Slurm."""
    known = _releases_until(version)
    if not known:
        return ()
    window = 3 if _order(version) >= _order(THREE_BACK_SINCE) else 2
    return tuple(reversed(known[:-1][-window:]))


def _step(old: str, new: str) -> Iterator[Problem]:
    if old == new or old in takes_over_from(new):
        return
    if not _releases_until(new) or not _releases_until(old):
        unknown = old if _releases_until(new) else new
        yield Problem("image", f"{unknown} is no release of Slurm.", "Choose another image.")
    elif _order(new) < _order(old):
        yield Problem(
            "image",
            f"Slurm does not go back from {old} to {new}: its daemons rewrite their state and the accounting database "
            f"as they first start ({GUIDE}, Reverting an Upgrade).",
            "Clone the cluster with the older image instead.",
        )
    else:
        yield Problem(
            "image",
            f"From Slurm {old} to {new} is too far at once: {new} takes over from {_listed(takes_over_from(new))} only "
            f"({GUIDE}, Compatibility Window).",
            f"Go in steps, first to {_farthest(old, new)}.",
        )


def _company(before: ClusterSpec, after: ClusterSpec) -> Iterator[Problem]:
    """What else changes could not be told from the upgrade when one of both fails."""
    alone = replace(before, image=after.image, slurm_version=after.slurm_version)
    if diff(alone, after):
        yield Problem("image", "Another image goes alone.", "Change the rest before it or after it.")


def _farthest(old: str, new: str) -> str:
    """The newest release on the way to `new` that may follow `old`."""
    return next(one for one in reversed(_releases_until(new)) if old in takes_over_from(one))


def _listed(versions: tuple[str, ...]) -> str:
    return ", ".join(versions)


def _releases_until(version: str) -> tuple[str, ...]:
    """All known ones up to and with `version`; empty when it is none."""
    try:
        year, month = _order(version)
    except ValueError:
        return ()
    regular = (f"{y}.{m:02}" for y in range(24, min(year, 99) + 1) for m in (5, 11))
    known = [one for one in (*IRREGULAR, *regular) if _order(one) <= (year, month)]
    return tuple(known) if known and known[-1] == version else ()


def _order(version: str) -> tuple[int, int]:
    year, month = version.split(".")
    return int(year), int(month)
