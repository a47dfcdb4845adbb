"""A stored document in the shape of YAML, for people to read. Pure; nothing parses it back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

PLAIN = re.compile(r"[A-Za-z0-9_./@%+-][A-Za-z0-9_./@%+ -]*")
LONGEST_FLOW = 60


def yamlish(document: Mapping[str, object]) -> str:
    return "\n".join(_mapping(document, ""))


def _mapping(document: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in document.items():
        yield from _entry(f"{indent}{key}:", value, f"{indent}  ")


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        yield f"{head} |"
        yield from (f"{indent}{line}" for line in value.splitlines())
    elif isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, indent)
    elif isinstance(value, Sequence) and not isinstance(value, str) and not _fits(value):
        yield head
        for item in value:
            yield from _item(item, indent)
    else:
        yield f"{head} {_flow(value)}"


def _item(item: object, indent: str) -> Iterator[str]:
    if not isinstance(item, Mapping):
        yield f"{indent}- {_flow(item)}"
        return
    lines = list(_mapping(item, f"{indent}  "))
    yield f"{indent}- {lines[0].strip()}"
    yield from lines[1:]


def _fits(value: Sequence[object]) -> bool:
    has_nested = any(isinstance(item, Mapping) for item in value)
    return not has_nested and len(_flow(value)) <= LONGEST_FLOW


def _flow(value: object) -> str:
    if isinstance(value, str):
        return value if PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Sequence):
        return f"[{', '.join(_flow(item) for item in value)}]"
    return json.dumps(value)
