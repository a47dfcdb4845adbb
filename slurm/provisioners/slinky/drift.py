"""What somebody changed by hand: the objects as they are against those that were last sent. Pure.

The last sending is kept in a ConfigMap of its own beside the objects, without Secrets: labels and annotations of the
operator's resources cannot carry it, for every change of them starts new pods.
"""

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from slurm.kube.kinds import CONFIG_MAP, SLINKY_GROUP, Thing
from slurm.provisioners.slinky.likeness import unlike
from slurm.provisioners.slinky.names import CLUSTER_LABEL, MANAGED_BY, MANAGER, Names
from slurm.provisioners.slinky.pods import name_of

NOTE = "objects.json"
MOST_LINES = 60


def note_of(names: Names, sent: Iterable[Thing]) -> Thing:
    """The ConfigMap that remembers what was sent."""
    labels = {MANAGED_BY: MANAGER, CLUSTER_LABEL: names.key}
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.name,
        "metadata": {"name": names.note, "namespace": names.namespace, "labels": labels},
        "data": {NOTE: json.dumps([thing for thing in sent if _is_kept(thing)])},
    }


def _is_kept(thing: Thing) -> bool:
    return str(thing["apiVersion"]).startswith(SLINKY_GROUP)


def noted(note: Thing | None) -> tuple[Thing, ...]:
    text = ((note or {}).get("data") or {}).get(NOTE) or "[]"
    try:
        return tuple(json.loads(text))
    except ValueError:
        return ()  # edited by hand as well: the next apply writes it anew


def drift_of(sent: Iterable[Thing], live: Iterable[Thing]) -> str:
    """A diff, `as applied` against `as found`; empty when nothing was touched."""
    found = {(thing["kind"], name_of(thing)): thing for thing in live}
    lines = [
        line for thing in sent for line in _thing_lines(thing, found.get((thing["kind"], name_of(thing))))
    ]
    return "\n".join(lines[:MOST_LINES])


def _thing_lines(sent: Thing, found: Thing | None) -> Iterator[str]:
    title = f"{sent['kind']} {name_of(sent)}"
    if found is None:
        yield f"{title}: deleted by hand"
        return
    for path, was, now in unlike(sent, found):
        yield from _diff(f"{title} {path.removeprefix('spec.')}", _text(was), _text(now))


def _diff(name: str, was: str, now: str) -> Iterator[str]:
    return difflib.unified_diff(
        was.splitlines(), now.splitlines(), f"{name}, as applied", f"{name}, as found", lineterm="", n=1
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True)
