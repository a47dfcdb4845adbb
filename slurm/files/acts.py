"""What people do with the files of a login node: one call each, audited, looks at folders excepted.

Called by pages and the API with an open door; everything else is decided by the login node, by the rights of the user
whom the certificate names. Blocks while the login node answers; raises ConsoleErrors only. Paths are absolute, as
`paths.parse_path` gives them; an empty one is the home.
"""

import hashlib
import hmac
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DatabaseError

from clusters.access import Door, cluster_for
from console import events
from console.errors import Conflict, ConsoleError, Forbidden, Missing, Rejected
from console.models import User
from console.roles import Action
from slurm.files import asking
from slurm.files.entries import Entry, Folder, read, written
from slurm.files.errors import NotText, OtherKind, TooLarge
from slurm.files.paths import check_name, legible, name_of, parent, quoted, shown
from slurm.terminal.opening import order

MOST_SHOWN = 512 * 1024
# One request to a chunk: below the limit of a request (console.body_limit), and soon sent again after a cut.
CHUNK = 4 * 2**20
ASK_S = 4.0
T = TypeVar("T")


@dataclass(frozen=True)
class Text:
    """The beginning of a file as text; `is_cut` when there is more than MOST_SHOWN bytes of it."""

    entry: Entry
    text: str
    is_cut: bool


@dataclass(frozen=True)
class Download:
    """A file, or a range of it, on its way: `length` is None where nobody knows it (/proc has files of no size)."""

    entry: Entry
    offset: int
    length: int | None
    body: AsyncIterator[bytes]


@dataclass(frozen=True)
class Upload:
    """A file that comes in chunks; `id` and `path` say which, `offset` where it goes on."""

    id: str
    path: bytes
    offset: int


class LoginFiles:
    """The files that the person behind `door` reaches. Raises NotRunning, NotYet or Unavailable when there is no login
    node to ask."""

    def __init__(self, door: Door) -> None:
        self._door = door
        # The worker records nothing of files, so it need not know where the question came from.
        self._order = order(door, "")

    def home(self) -> bytes:
        return read(self._ask("home")["path"])

    def folder(self, path: bytes = b"") -> Folder:
        return Folder.from_wire(self._ask("folder", path or self.home()))

    def entry(self, path: bytes) -> Entry:
        return self._entry(path, self._ask("entry", path))

    def text(self, path: bytes) -> Text:
        """Raises NotText for a file that holds a NUL or no UTF-8."""

        def act() -> Text:
            entry = self._file(path)
            found = async_to_sync(self._beginning)(path)
            return Text(entry, _text(found[:MOST_SHOWN], path), len(found) > MOST_SHOWN)

        return self._recorded("file.view", path, act)

    def download(self, path: bytes, offset: int = 0, length: int | None = None) -> Download:
        """From `offset` on, `length` bytes or to the end. The right is asked again while it lasts."""

        def act() -> Download:
            entry = self._file(path)
            rest = max(0, entry.size - offset)
            known = (min(rest, length) if length is not None else rest) if entry.size else None
            return Download(entry, offset, known, self._stream(path, offset, known))

        return self._recorded("file.download", path, act, {"offset": offset} if offset else {})

    def begin(self, path: bytes, size: int, mark: str, *, replace: bool) -> Upload:
        """Begin an upload, or find the one that was cut: the same person's of the same path, size and `mark` (what
        tells the sender's file from another of its name)."""
        check_name(name_of(path))
        most = settings.UPLOAD_MOST_MIB * 2**20
        upload = self._upload_id(path, size, mark)

        def act() -> Upload:
            if size > most:
                raise TooLarge(
                    f"{shown(name_of(path))} is larger than the {settings.UPLOAD_MOST_MIB} MiB that the console takes.",
                    "Bring it with rsync or scp: the Connect page says how.",
                )
            said = self._ask("begin", path, upload=upload, size=size, replace=replace)
            return Upload(upload, path, _number(said["offset"]))

        return self._recorded("file.upload", path, act, {"bytes": size})

    def write(self, upload: Upload, data: bytes) -> int:
        """The next chunk. Returns where the one after it begins. Raises OtherOffset, TooLarge."""
        if upload.offset + len(data) > settings.UPLOAD_MOST_MIB * 2**20:
            raise TooLarge(f"That is more than the {settings.UPLOAD_MOST_MIB} MiB that the console takes.")
        said = async_to_sync(asking.ask)(
            self._order,
            "write",
            data,
            path=written(upload.path),
            upload=upload.id,
            offset=upload.offset,
        )
        return _number(said["offset"])

    def finish(self, upload: Upload, sha256: str, *, replace: bool) -> Entry:
        """Compare and put in place; `upload.offset` is the whole size. Raises Damaged, AlreadyThere, OtherOffset."""

        def act() -> Entry:
            more = {"upload": upload.id, "size": upload.offset, "sha256": sha256, "replace": replace}
            return self._entry(upload.path, self._ask("finish", upload.path, **more))

        detail = {"bytes": upload.offset, "sha256": sha256}
        return self._recorded("file.uploaded", upload.path, act, detail)

    def abandon(self, upload: Upload) -> None:
        """Throw away what has arrived. Idempotent."""
        self._recorded(
            "file.abandon", upload.path, lambda: self._ask("abandon", upload.path, upload=upload.id)
        )

    def rename(self, path: bytes, to: bytes) -> Entry:
        check_name(name_of(to))

        def act() -> Entry:
            return self._entry(to, self._ask("rename", path, to=written(to)))

        return self._recorded("file.rename", path, act, {"to": shown(to)})

    def make_folder(self, path: bytes) -> Entry:
        check_name(name_of(path))
        return self._recorded("file.folder", path, lambda: self._entry(path, self._ask("make-folder", path)))

    def remove(self, path: bytes, *, recursive: bool = False) -> int:
        """How many files and folders went."""

        def act() -> int:
            if path == b"/":
                raise OtherKind("The root of the login node is not to be deleted.")
            return _number(self._ask("remove", path, recursive=recursive)["count"])

        return self._recorded("file.delete", path, act, {"with_contents": True} if recursive else {})

    def _file(self, path: bytes) -> Entry:
        entry = self.entry(path)
        if not entry.is_file:
            raise OtherKind(f"{shown(path)} is {'a folder' if entry.is_folder else 'no regular file'}.")
        return entry

    def _ask(self, what: str, path: bytes = b"", **more: object) -> dict[str, object]:
        return async_to_sync(asking.ask)(self._order, what, b"", path=written(path), **more)

    def _entry(self, path: bytes, said: dict[str, object]) -> Entry:
        row = said["entry"]
        assert isinstance(row, list)
        return Entry.from_wire(row, parent(path))

    async def _beginning(self, path: bytes) -> bytes:
        """One byte more than is shown, if there is one."""
        found = b""
        async with aclosing(asking.stream(self._order, written(path), 0, None)) as pieces:
            async for piece in pieces:
                found += piece
                if len(found) > MOST_SHOWN:
                    break
        return found[: MOST_SHOWN + 1]

    async def _stream(self, path: bytes, offset: int, length: int | None) -> AsyncGenerator[bytes, None]:
        asked = monotonic()
        async with aclosing(asking.stream(self._order, written(path), offset, length)) as pieces:
            async for piece in pieces:
                yield piece
                if monotonic() - asked > ASK_S:
                    await database_sync_to_async(self._still_may)()
                    asked = monotonic()

    def _still_may(self) -> None:
        """Raises Missing or Forbidden when the person may not any more; with the database away, the next time says."""
        user = self._door.membership.user
        try:
            now = User.objects.filter(pk=user.pk, is_active=True).first()
        except DatabaseError:
            return
        if now is None:
            raise Missing("You are signed out.")
        now.comes_as(user)
        cluster_for(now, self._door.cluster.team.slug, self._door.cluster.slug, Action.TERMINAL)

    def _upload_id(self, path: bytes, size: int, mark: str) -> str:
        """Not to be guessed: in a folder that others write to, somebody could wait there with a link of that name."""
        facts = [self._door.membership.user.pk, self._door.cluster.key, quoted(path), size, mark]
        return hmac.new(settings.SECRET_KEY.encode(), repr(facts).encode(), hashlib.sha256).hexdigest()[:32]

    def _recorded(
        self, verb: str, path: bytes, act: Callable[[], T], detail: dict[str, object] | None = None
    ) -> T:
        try:
            done = act()
        except ConsoleError as error:
            is_refused = isinstance(error, Forbidden | Conflict | Rejected | TooLarge)
            outcome = "refused" if is_refused else "failed"
            self._record(verb, path, outcome, {**(detail or {}), "error": error.message})
            raise
        self._record(verb, path, "done", detail or {})
        return done

    def _record(self, verb: str, path: bytes, outcome: str, detail: dict[str, object]) -> None:
        events.record(
            verb,
            by=self._door.membership.user,
            team=self._door.cluster.team,
            cluster=self._door.cluster.slug,
            target=shown(path),
            outcome=outcome,
            detail=detail,
        )


def _text(data: bytes, path: bytes) -> str:
    """The last sign may have been cut in two by the limit."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        is_cut = error.end == len(data) and error.reason == "unexpected end of data"
        text = data[: error.start].decode() if is_cut else "\0"
    if "\0" in text:
        raise NotText(f"{shown(name_of(path))} is no text in UTF-8.", "Download it to look at it.")
    return legible(text)


def _number(value: object) -> int:
    return int(str(value))
