"""What stands in a folder of the login node, and how it is written between worker and web. Pure."""

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from slurm.files.paths import is_part, joined, name_of, quoted, shown


@dataclass(frozen=True)
class Entry:
    """`mode` are the permission bits, `modified` seconds since 1970; `kind` is `file`, `folder`, `link` or `other`, and
    of a link `leads_to` says what it leads to (empty: nowhere)."""

    path: bytes
    kind: str
    size: int
    mode: int
    modified: int
    leads_to: str = ""

    @property
    def name(self) -> str:
        return shown(name_of(self.path))

    @property
    def address(self) -> str:
        """The path, percent-encoded."""
        return quoted(self.path)

    @property
    def is_hidden(self) -> bool:
        return name_of(self.path).startswith(b".")

    @property
    def is_part(self) -> bool:
        """An upload that has not come to its end."""
        return is_part(name_of(self.path))

    @property
    def is_folder(self) -> bool:
        return "folder" in (self.kind, self.leads_to)

    @property
    def is_file(self) -> bool:
        return "file" in (self.kind, self.leads_to)

    @property
    def rights(self) -> str:
        """`rw-r--r--`."""
        return stat.filemode(self.mode)[1:]

    @property
    def modified_at(self) -> datetime:
        return datetime.fromtimestamp(min(self.modified, 253_402_300_799), UTC)

    @property
    def tag(self) -> str:
        """For If-Range: as exact as SFTP's times, which are whole seconds."""
        return f'"{self.modified:x}-{self.size:x}"'

    def to_wire(self) -> list[object]:
        return [written(name_of(self.path)), self.kind, self.size, self.mode, self.modified, self.leads_to]

    @classmethod
    def from_wire(cls, row: Sequence[object], folder: bytes) -> Self:
        name, kind, size, mode, modified, leads_to = row
        path = joined(folder, read(name)) if name != "/" else b"/"
        return cls(path, str(kind), int(str(size)), int(str(mode)), int(str(modified)), str(leads_to))


@dataclass(frozen=True)
class Folder:
    """`is_cut` when there is more in it than was read."""

    path: bytes
    entries: tuple[Entry, ...]
    is_cut: bool = False

    def to_wire(self) -> dict[str, object]:
        rows = [entry.to_wire() for entry in self.entries]
        return {"path": written(self.path), "entries": rows, "is_cut": self.is_cut}

    @classmethod
    def from_wire(cls, said: Mapping[str, object]) -> Self:
        rows = said["entries"]
        assert isinstance(rows, list)
        path = read(said["path"])
        return cls(path, tuple(Entry.from_wire(row, path) for row in rows), bool(said["is_cut"]))


def kind_of(mode: int) -> str:
    """Of the type bits of a mode (inode(7))."""
    named = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return named.get(stat.S_IFMT(mode), "other")


def written(path: bytes) -> str:
    """A path in JSON: bytes that are no text as halves of characters, which only `read` understands."""
    return path.decode(errors="surrogateescape")


def read(path: object) -> bytes:
    return str(path).encode(errors="surrogateescape")
