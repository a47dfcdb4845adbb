"""Paths on the login node: read from addresses, checked, shown. Pure.

A name there is any bytes but `/` and NUL (path_resolution(7)), so a path travels percent-encoded in addresses and is
text only where a person reads it. What is refused here is what cannot be meant; what may be reached, the login node
decides by the login user's own rights.
"""

import unicodedata
from urllib.parse import quote, unquote_to_bytes

from console.errors import Problem, Rejected

LONGEST_PATH = 4095
LONGEST_NAME = 255
PART_PREFIX, PART_SUFFIX = b".quarterdeck-", b".part"


def parse_path(text: str, field: str = "path") -> bytes:
    """A percent-encoded absolute path, tidied of doubled and trailing slashes. Raises Rejected at `field`."""
    path = unquote_to_bytes(text)
    if not path.startswith(b"/"):
        raise _refused(field, "A path begins with a slash, as in /home.")
    names = [name for name in path.split(b"/") if name]
    for name in names:
        check_name(name, field)
    tidy = b"/" + b"/".join(names)
    if len(tidy) > LONGEST_PATH:
        raise _refused(field, f"A path may be {LONGEST_PATH} bytes long at most.")
    return tidy


def query_path(query: str, name: str = "path", *, otherwise: bytes | None = None) -> bytes:
    """The path in a query string as it came: the framework would make replacement marks of what is no UTF-8.

    `otherwise` is the answer to one that names none. Raises Rejected at `name`.
    """
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if key == name and value:
            return parse_path(value.replace("+", " "), name)
    return parse_path("", name) if otherwise is None else otherwise


def check_name(name: bytes, field: str = "name") -> bytes:
    """The name of one file or folder. Raises Rejected at `field`."""
    if not name or name in (b".", b".."):
        raise _refused(field, "A name is neither empty nor one or two dots.")
    if b"/" in name or b"\0" in name:
        raise _refused(field, "A name holds neither a slash nor a NUL.")
    if len(name) > LONGEST_NAME:
        raise _refused(field, f"A name may be {LONGEST_NAME} bytes long at most.")
    return name


def joined(folder: bytes, name: bytes) -> bytes:
    return folder.rstrip(b"/") + b"/" + name


def parent(path: bytes) -> bytes:
    """Of the root, the root."""
    return path.rpartition(b"/")[0] or b"/"


def name_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[2] or b"/"


def quoted(path: bytes) -> str:
    """As `parse_path` reads it."""
    return quote(path, safe="/")


def shown(name: bytes) -> str:
    """For a person: what is no text, and what would act on the text around it, becomes a replacement mark."""
    return "".join("�" if _acts(sign) else sign for sign in name.decode(errors="replace"))


def legible(text: str) -> str:
    """A file's text for a person: lines and tabs stay, everything else that `shown` would not show is a mark."""
    return "".join(sign if sign in "\n\t" or not _acts(sign) else "�" for sign in text.replace("\r\n", "\n"))


def part_path(path: bytes, upload: str) -> bytes:
    """Where an upload grows, beside what it becomes: renamed at the end, so that nobody meets half a file."""
    return joined(parent(path), PART_PREFIX + upload.encode() + PART_SUFFIX)


def is_part(name: bytes) -> bool:
    return name.startswith(PART_PREFIX) and name.endswith(PART_SUFFIX)


def _acts(sign: str) -> bool:
    """Controls, line and paragraph separators, and formats such as the ones that turn the direction of writing; the
    joiner that emoji are made with does no harm."""
    return unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp") and sign != "\u200d"


def _refused(field: str, sentence: str) -> Rejected:
    return Rejected("The path was not understood.", (Problem(field, sentence),))
