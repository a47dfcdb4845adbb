"""Turning on that accounts and limits hold: one line of the user's slurm.conf, as a change that is looked at first.

The change itself is one of `slurm.configuration`; what is told beside its impact is who could submit nothing then.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clusters.access import Door
from clusters.acts import Edit
from clusters.models import Change, Cluster
from clusters.when import When
from console.errors import Conflict
from slurm.accounts.accounting import NO_ACCOUNTING, Ledger
from slurm.accounts.book import Book
from slurm.accounts.enforcement import KEY, WANTED, wanted_words
from slurm.conf import parse, render
from slurm.configuration import Configuration, propose_conf, read, review
from slurm.effects import LineChange


@dataclass(frozen=True)
class Enforcing:
    """`text` is the whole file with the line in it, over revision `base`; `shut_out` are users of the cluster who are
    in no account: from then on their jobs wait and they submit none."""

    base: int
    text: str
    act: Edit
    lines: tuple[LineChange, ...]
    shut_out: tuple[str, ...]


def enforcing_of(cluster: Cluster, ledger: Ledger) -> Enforcing:
    """Nothing is touched. Raises Conflict where there is nothing to turn on, or it is asked for already."""
    if ledger.book is None:
        raise Conflict(NO_ACCOUNTING)
    if ledger.enforcement.is_whole:
        raise Conflict("Limits and QOS are enforced already.")
    current, spec = read(cluster), cluster.spec
    settings = _with_line(current)
    if settings == current.settings:
        raise Conflict(
            f"slurm.conf says {WANTED} already, but the controller has not read it.",
            "A change may be under way; else reconfigure the cluster.",
        )
    text = current.with_settings(settings)
    found = review(cluster, text, base=current.revision, shadow=False)
    return Enforcing(
        base=current.revision,
        text=text,
        act=Edit(spec, spec.with_slurm_conf(found.settings)),
        lines=found.lines,
        shut_out=_shut_out(cluster, ledger.book),
    )


def enforce(door: Door, wanted: Enforcing, *, start_at: When = None) -> Change:
    """Ask for the change. Raises as `slurm.configuration.propose_conf`."""
    return propose_conf(door, wanted.text, wanted.base, start_at=start_at)


def _with_line(current: Configuration) -> str:
    """What else stands in the line stays."""
    conf = parse(current.settings)
    words = wanted_words(conf.get(KEY) or "")
    return render(conf.set(KEY, words))


def _shut_out(cluster: Cluster, book: Book) -> tuple[str, ...]:
    logins = cluster.spec.logins
    names: Sequence[str] = [user.name for user in logins.users] if logins.on else []
    with_jobs = cluster.jobs.filter(is_finished=False).values_list("user", flat=True).distinct()
    return tuple(name for name in sorted({*names, *with_jobs}) if not book.of_user(name))
