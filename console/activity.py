"""What happened in a team, to be read and searched: audit events in words, filtered by the database. Reads only."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from console import refusals, sink
from console.errors import Problem, Rejected
from console.models import Event, Team

# What each verb means to a reader. One that is not here is shown as it was written.
VERBS = {
    "change.proposed": "Propose a change",
    "change.scheduled": "Schedule a change",
    "change.confirmed": "Say yes to what a change costs",
    "change.committed": "Change applied",
    "change.rejected": "Change rejected",
    "change.rolled back": "Change rolled back",
    "change.stuck": "Change stuck",
    "change.failed": "Change failed",
    "change.stopped": "Change stopped by a person",
    "change.cancelled": "Cancel a change",
    "change.logins": "Change who signs in while a change waits",
    "change.forced": "Wait no longer for a change's jobs",
    "node.drain": "Drain nodes",
    "script.try": "Try a script on a node",
    "node.resume": "Resume nodes",
    "node.reboot": "Reboot nodes",
    "node.down": "Node went down",
    "node.up": "Node came back",
    "nodes.changed": "Nodes went down or came back",
    "cluster.restart": "Restart services",
    "part.revived": "Service started again",
    "job.submit": "Submit a job",
    "job.cancel": "Cancel jobs",
    "job.hold": "Hold jobs",
    "job.release": "Release jobs",
    "job.requeue": "Requeue jobs",
    "opened a terminal": "Open a terminal",
    "closed a terminal": "Terminal closed",
    "host-key.accept": "Accept a login node's new host key",
    "terminal.policy": "Change whether terminals are recorded",
    "recording.play": "Replay a terminal's recording",
    "recording.drop": "Recordings deleted when their time was over",
    "terminal.share": "Share a terminal",
    "terminal.unshare": "Stop sharing a terminal",
    "terminal.watch": "Watch a terminal",
    "terminal.unwatch": "Stop watching a terminal",
    "terminal.allow": "Let somebody type into a terminal",
    "terminal.disallow": "Keep somebody from typing into a terminal",
    "terminal.dismiss": "Send a watcher away from a terminal",
    "volume.create": "Make a volume",
    "volume.grow": "Grow a volume",
    "volume.rename": "Rename a volume",
    "volume.delete": "Delete a volume",
    "file.view": "Look at a file",
    "file.download": "Download a file",
    "file.upload": "Begin an upload",
    "file.uploaded": "Upload a file",
    "file.abandon": "Give up an upload",
    "file.rename": "Rename a file",
    "file.folder": "Make a folder",
    "file.delete": "Delete files",
    "ssh.certificate": "Sign an SSH key",
    "member.add": "Add a member",
    "member.role": "Change a member's role",
    "member.remove": "Remove a member",
    "member.leave": "Leave the team",
    "member.slurm-users": "Link Slurm users",
    "grant.give": "Give a role on a cluster",
    "grant.withdraw": "Take back a role on a cluster",
    "team.make": "Make a team",
    "team.handover": "Hand over the team",
    "invitation.make": "Invite somebody",
    "invitation.revoke": "Revoke an invitation",
    "invitation.accept": "Accept an invitation",
    "token.make": "Make an API token",
    "token.revoke": "Revoke an API token",
    "password.change": "Change the password",
    "sign-in": "Sign in",
    "sign-out": "Sign out",
    "account.make": "Make an account",
    "identity.link": "Link to an identity provider",
    "factor.add": "Add a second factor",
    "factor.remove": "Remove a second factor",
    "factor.codes": "Make recovery codes",
    "factor.reset": "Reset somebody's second factors",
    "team.second-factor": "Change whether a second factor is required",
    "session.end": "Sign a browser out",
    "session.end-all": "Sign out everywhere",
    "region.register": "Register a region",
    "region.change": "Change a region's settings",
    "region.credentials": "Replace a region's credentials",
    "region.enable": "Enable a region",
    "region.disable": "Disable a region",
    "secrets.rotate": "Seal every secret under the newest key",
    "key.add": "Add an SSH key of their own",
    "key.remove": "Remove an SSH key of their own",
    refusals.VERB: "Ask for more than allowed",
}
OUTCOMES = ("done", "refused", "failed")
# How far back people, verbs and clusters are looked up for the filter's lists: bounded, whatever the trail's length.
RECENT = 5000
SHEET_HEAD = ("when", "who", "what", "cluster", "target", "about", "outcome", "from")
# Rows read at once for a file, so that its length costs no memory.
BATCH = 2000
# What a spreadsheet would take for a formula (OWASP, CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class Wanted:
    """What to look for; empty parts do not narrow. `since` and `until` are days in UTC (2026-11-30), both included."""

    text: str = ""
    who: str = ""
    verb: str = ""
    cluster: str = ""
    outcome: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "Wanted":
        """Of a request's parameters: `q` and the fields' names. Raises Rejected for a day that is none.

        NUL, which PostgreSQL refuses in text, is left out.
        """
        named = {"text": "q"} | {
            name: name for name in ("who", "verb", "cluster", "outcome", "since", "until")
        }
        wanted = cls(**{field: query.get(key, "").replace("\0", "").strip() for field, key in named.items()})
        for name in ("since", "until"):
            _day(name, getattr(wanted, name))
        return wanted

    @property
    def is_any(self) -> bool:
        return self == Wanted()


@dataclass(frozen=True)
class Choices:
    """What the filter's lists offer: what occurred lately, and what is chosen now."""

    people: list[str]
    verbs: list[tuple[str, str]]
    clusters: list[str]


def events_of(team: Team, wanted: Wanted) -> QuerySet[Event]:
    """The team's events, newest first. Text is looked for in people, clusters, targets and details."""
    found = Event.objects.filter(team=team)
    exact = {"who": wanted.who, "verb": wanted.verb, "cluster": wanted.cluster, "outcome": wanted.outcome}
    found = found.filter(**{name: value for name, value in exact.items() if value})
    if since := _day("since", wanted.since):
        found = found.filter(at__gte=since)
    if until := _day("until", wanted.until):
        found = found.filter(at__lt=until + timedelta(days=1))
    if not wanted.text:
        return found
    verbs = [verb for verb, words in VERBS.items() if wanted.text.lower() in words.lower()]
    return found.annotate(all_detail=Cast("detail", TextField())).filter(
        Q(target__icontains=wanted.text)
        | Q(who__icontains=wanted.text)
        | Q(cluster__icontains=wanted.text)
        | Q(verb__in=verbs)
        | Q(all_detail__icontains=wanted.text)
    )


def choices(team: Team, wanted: Wanted) -> Choices:
    """One query over the newest events."""
    recent = Event.objects.filter(team=team).values("pk")[:RECENT]
    rows = list(
        Event.objects.filter(pk__in=recent).order_by().values_list("who", "verb", "cluster").distinct()
    )
    verbs = {row[1] for row in rows} | {wanted.verb}
    return Choices(
        people=sorted(({row[0] for row in rows} | {wanted.who}) - {""}),
        verbs=sorted(((verb, verb_words(verb)) for verb in verbs - {""}), key=lambda pair: pair[1]),
        clusters=sorted(({row[2] for row in rows} | {wanted.cluster}) - {""}),
    )


def verb_words(verb: str) -> str:
    """The act, whatever came of it: `Drain nodes`."""
    return VERBS.get(verb, verb.replace(".", " ").capitalize())


def about(event: Event) -> str:
    """What the details add to the target, in one line: why it was refused, what was changed, from what to what."""
    detail = event.detail
    parts = [str(detail[key]) for key in ("summary", "reason", "why", "did", "error") if detail.get(key)]
    if detail.get("from") and detail.get("to"):
        parts.insert(0, f"{detail['from']} → {detail['to']}")
    elif detail.get("role"):
        parts.insert(0, str(detail["role"]))
    return "; ".join(parts)


def sheet(found: QuerySet[Event]) -> Iterator[str]:
    """As CSV with a head (RFC 4180), piece by piece. What a spreadsheet would calculate begins with an apostrophe."""
    yield _csv([SHEET_HEAD])
    for events in _batches(found):
        yield _csv(_cells(event) for event in events)


def json_lines(found: QuerySet[Event]) -> Iterator[str]:
    """One JSON object a line, as the sink writes it, piece by piece."""
    for events in _batches(found):
        yield "".join(f"{sink.line(event)}\n" for event in events)


def _batches(found: QuerySet[Event]) -> Iterator[list[Event]]:
    """By place and not by offset: each batch costs the same, and what is written meanwhile shifts nothing."""
    rows = list(found[:BATCH])
    while rows:
        yield rows
        last = rows[-1]
        rows = list(found.filter(Q(at__lt=last.at) | Q(at=last.at, pk__lt=last.pk))[:BATCH])


def _csv(rows: Iterable[tuple[str, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _cells(event: Event) -> tuple[str, ...]:
    return (
        event.at.isoformat(timespec="seconds"),
        f"{event.who} (platform staff)" if event.as_staff else event.who,
        verb_words(event.verb),
        event.cluster,
        event.target,
        about(event),
        event.outcome,
        event.address or "",
    )


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _day(name: str, text: str) -> datetime | None:
    """The day's beginning in UTC; None for no text. Raises Rejected at `name`."""
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        problem = Problem(name, f"{text[:40]} is no day.", "Write it like 2026-11-30.")
        raise Rejected(f"The filter was not understood: {problem.message}", (problem,)) from None
