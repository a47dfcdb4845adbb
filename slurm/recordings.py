"""Recordings of terminals: whether a team wants them, which there are, and when they go.

The files are written by the terminal worker (`slurm.terminal.recorder`); here are their rows and the team's policy.
Each file is sealed under a key of its own, which is kept among the secrets: keys rotate without the files, and what was
deleted is not read from a backup of the folder.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from tempfile import NamedTemporaryFile

from django.conf import settings
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from console import events, secrets
from console.errors import Missing, Problem, Rejected, Unavailable
from console.models import Membership, Secret, Team, User
from console.roles import Action, Role, may
from console.sealed_stream import MAGIC, PIECE, NotAuthentic, Sealer, make_key, opened
from slurm.models import Recording, TerminalPolicy
from slurm.terminal.recorder import ENDING

MOST_DAYS = 365
# A file without a row is one whose terminal is being opened, or of a team that is gone.
ORPHAN_S = 24 * 3600
EARLIER = ".cast"
KEYS = "recording:"
KEY = "recording key"
GRACE_S = 3600


@dataclass(frozen=True)
class Policy:
    """Whether the team's terminals are recorded, and for how many days recordings are kept."""

    record: bool = False
    keep_days: int = 30


def policy_of(team: Team) -> Policy:
    found = TerminalPolicy.objects.filter(team=team).first()
    return Policy(found.record, found.keep_days) if found else Policy()


def set_policy(team: Team, policy: Policy, *, by: Membership) -> None:
    """Holds for terminals that are opened from now on. Raises Rejected."""
    if not 1 <= policy.keep_days <= MOST_DAYS:
        problem = Problem("keep_days", f"Between 1 and {MOST_DAYS} days.", "")
        raise Rejected("The settings of recordings were not changed.", (problem,))
    was = policy_of(team)
    TerminalPolicy.objects.update_or_create(
        team=team, defaults={"record": policy.record, "keep_days": policy.keep_days}
    )
    detail = {"from": _words(was), "to": _words(policy)}
    events.record("terminal.policy", by=by.user, team=team, detail=detail)


def _words(policy: Policy) -> str:
    return f"recorded, kept {policy.keep_days} days" if policy.record else "not recorded"


def recordings_for(membership: Membership) -> QuerySet[Recording]:
    """Those that the person may replay, the newest first: all of the team's for who may review them, else their own."""
    found = Recording.objects.filter(team=membership.team).order_by("-began_at", "-pk")
    is_all = may(Role(membership.role), Action.REVIEW_TERMINALS)
    return found if is_all else found.filter(user=membership.user)


@dataclass(frozen=True)
class Recorded:
    """What a team keeps of one person's terminals. `latest` is when the newest began, None of none."""

    team: Team
    policy: Policy
    count: int
    latest: datetime | None


def recorded_of(user: User) -> list[Recorded]:
    """Of the person's teams by name: those that record, and those that keep recordings from when they did."""
    own = Q(recordings__user=user)
    teams = user.teams.annotate(
        count=Count("recordings", own), latest=Max("recordings__began_at", filter=own)
    )
    found = (Recorded(team, policy_of(team), team.count, team.latest) for team in teams.order_by("slug"))
    return [one for one in found if one.count or one.policy.record]


def replay_for(membership: Membership, name: str) -> Recording:
    """Raises Missing, for another's too."""
    found = recordings_for(membership).filter(name=name).first()
    if found is None:
        raise Missing("There is no such recording.", "It may have been deleted: they are kept for some days.")
    return found


def read(recording: Recording) -> Iterator[bytes]:
    """The asciicast, in pieces of bounded size. Raises Missing when the file is not there and Unavailable when it was
    changed, the latter in its midst, too. Blocks."""
    pieces = _pieces(recording)
    return chain([next(pieces, b"")], pieces)


def _pieces(recording: Recording) -> Iterator[bytes]:
    key = secrets.get(key_owner(recording.name), KEY)
    try:
        with file_of(recording).open("rb") as file:
            yield from opened(file, key)
    except NotAuthentic as error:
        raise Unavailable(
            "The file of this recording is not as it was written.",
            "Somebody changed it, or it was damaged: the recording is worth nothing.",
        ) from error


def key_owner(name: str) -> str:
    """Under which the recording's key is among the secrets."""
    return f"{KEYS}{name}"


def file_of(recording: Recording) -> Path:
    """Raises Missing when the file is not there."""
    path = file_named(recording.name)
    if not path.is_file():
        raise Missing(
            "The file of this recording is not here.",
            "It was deleted by hand, or the terminal worker writes to a folder that this process does not see.",
        )
    return path


def file_named(name: str) -> Path:
    return folder() / f"{name}{ENDING}"


def folder() -> Path:
    return Path(settings.TERMINAL_RECORDINGS_DIR)


def drop_old() -> int:
    """Delete what was kept long enough, file and key first, and what of both belongs to no row. How many went."""
    gone = 0
    for team in Team.objects.filter(recordings__isnull=False).distinct():
        until = timezone.now() - timedelta(days=policy_of(team).keep_days)
        old = Recording.objects.filter(team=team, began_at__lt=until).exclude(ended_at=None)
        names = list(old.values_list("name", flat=True))
        for name in names:
            file_named(name).unlink(missing_ok=True)
            secrets.drop(key_owner(name))
        old.filter(name__in=names).delete()
        if names:
            events.record("recording.drop", by=None, team=team, detail={"count": len(names)})
        gone += len(names)
    _drop_orphans()
    return gone


def settle_lost() -> None:
    """End rows whose worker was killed: a terminal that shows nothing for longer than its idle time has ended."""
    limit_s = settings.TERMINAL_IDLE_S + GRACE_S
    began = timezone.now() - timedelta(seconds=limit_s)
    for recording in Recording.objects.filter(ended_at=None, began_at__lt=began):
        path = file_named(recording.name)
        facts = path.stat() if path.exists() else None
        if facts and time.time() - facts.st_mtime < limit_s:
            continue
        recording.ended_at, recording.cut = timezone.now(), True
        recording.bytes = facts.st_size if facts else 0
        recording.seconds = round(facts.st_mtime - recording.began_at.timestamp()) if facts else 0
        recording.save(update_fields=["ended_at", "bytes", "seconds", "cut"])


def seal_earlier() -> None:
    """Seal what was written in clear before recordings were sealed. Safe to stop anywhere; idempotent."""
    for path in folder().glob(f"*{EARLIER}"):
        name = path.name.removesuffix(EARLIER)
        if not Recording.objects.filter(name=name).exclude(ended_at=None).exists():
            continue
        # Two who do it at once, or one who was killed and another, write the same bytes under the same key.
        sealer = Sealer(secrets.get_or_make(key_owner(name), KEY, make_key))
        with path.open("rb") as clear, NamedTemporaryFile(dir=folder(), delete=False) as sealed:
            sealed.write(MAGIC)
            while piece := clear.read(PIECE):
                sealed.write(sealer.seal(piece))
        Path(sealed.name).replace(file_named(name))
        path.unlink(missing_ok=True)


def _drop_orphans() -> None:
    """What went with its team: rows go by themselves, keys and files do not."""
    # Row and key are written in one transaction: what has no row after the keys were read never has one.
    keys = list(Secret.objects.filter(kind=KEY, owner__startswith=KEYS).values_list("owner", flat=True))
    known = set(Recording.objects.values_list("name", flat=True))
    for owner in keys:
        if owner.removeprefix(KEYS) not in known:
            secrets.drop(owner)
    if not folder().is_dir():
        return
    for entry in os.scandir(folder()):
        is_ours = entry.name.endswith(ENDING) and entry.name.removesuffix(ENDING) not in known
        if is_ours and time.time() - entry.stat().st_mtime > ORPHAN_S:
            Path(entry.path).unlink(missing_ok=True)
