"""Where an object in the region is not as it was rendered. Pure.

Only what was rendered is looked at: defaults, status and other people's fields beside it are not ours.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from slurm.kube.kinds import Thing


def unlike(wanted: Thing, found: Thing) -> Iterator[tuple[str, Any, Any]]:
    """(path, as rendered, as found) of each field that differs, in the order of the rendering."""
    for key in ("metadata", "spec", "data"):
        if key in wanted:
            yield from _differences(key, wanted[key], found.get(key))


def _differences(path: str, wanted: Any, found: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, Mapping):
        there = found if isinstance(found, Mapping) else {}
        for key, value in wanted.items():
            yield from _differences(f"{path}.{key}", value, there.get(key))
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for at, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _differences(f"{path}[{at}]", one, other)
    elif wanted != found and not _is_empty_both(wanted, found):
        yield path, wanted, found


def _is_empty_both(wanted: Any, found: Any) -> bool:
    """The API keeps no difference between an empty list or text and none at all."""
    return not wanted and not found and not isinstance(wanted, bool | int)
