"""Files over SFTP (version 3, as OpenSSH's sftp-server speaks it). Knows asyncssh; its errors become ours here."""

import hashlib
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from typing import Self

import asyncssh

from console.errors import ConsoleError
from slurm.files.entries import Entry, Folder, kind_of
from slurm.files.errors import (
    AlreadyThere,
    Damaged,
    Failed,
    Interrupted,
    NoRoom,
    NoSuchFile,
    NotPermitted,
    OtherKind,
    OtherOffset,
)
from slurm.files.paths import joined, name_of, parent, part_path, shown
from slurm.files.wire import PIECE
from slurm.terminal.ssh import Target, connect

MOST_ENTRIES = 5000
# Links of one folder that are followed to say what they lead to; each costs a question.
MOST_FOLLOWED = 200
MOST_REMOVED = 10_000
NEW = asyncssh.FXF_WRITE | asyncssh.FXF_CREAT | asyncssh.FXF_EXCL
RIGHTS = 0o7777


class Sftp:
    """The files that one login user reaches, over one connection. Any number of calls may run at once."""

    def __init__(self, connection: asyncssh.SSHClientConnection, client: asyncssh.SFTPClient) -> None:
        self._connection = connection
        self._client = client

    @classmethod
    async def dial(cls, target: Target) -> Self:
        """Raises as `slurm.terminal.ssh.connect` does; for its caller to put into words."""
        connection = await connect(target)
        try:
            return cls(connection, await connection.start_sftp_client(path_encoding=None))
        except BaseException:
            connection.abort()
            raise

    def close(self) -> None:
        self._client.exit()
        self._connection.close()

    async def wait_closed(self) -> None:
        await self._connection.wait_closed()

    async def home(self) -> bytes:
        with _in_words(b"~"):
            return await self._client.realpath(b".")

    async def folder(self, path: bytes) -> Folder:
        """Folders first, then by name. Raises OtherKind for what is none."""
        with _in_words(path):
            if kind_of((await self._client.stat(path)).permissions or 0) != "folder":
                raise OtherKind(f"{shown(path)} is no folder.")
            names = await self._first_names(path, MOST_ENTRIES + 1)
        found = [_entry(joined(path, _bytes(each.filename)), each.attrs) for each in names[:MOST_ENTRIES]]
        followed = await self._followed(found)
        ordered = sorted(followed, key=lambda entry: (not entry.is_folder, entry.path.lower()))
        return Folder(path, tuple(ordered), is_cut=len(names) > MOST_ENTRIES)

    async def entry(self, path: bytes) -> Entry:
        with _in_words(path):
            found = _entry(path, await self._client.lstat(path))
        return (await self._followed([found]))[0]

    async def pieces(self, path: bytes, offset: int, length: int | None) -> AsyncGenerator[bytes, None]:
        """`length` bytes from `offset` on, or all that is there. Raises OtherKind unless it is a regular file (a pipe
        would answer never), and Interrupted when the file turns out shorter than `length`."""
        with _in_words(path):
            await self._must_be_file(path)
            async with await self._client.open(path, asyncssh.FXF_READ, encoding=None) as file:
                at, end = offset, None if length is None else offset + length
                while end is None or at < end:
                    wanted = PIECE if end is None else min(PIECE, end - at)
                    data = _bytes(await file.read(wanted, at))
                    if not data and end is not None:
                        raise Interrupted(f"{shown(path)} became shorter while it was read.")
                    if not data:
                        return
                    yield data
                    at += len(data)

    async def begin(self, path: bytes, upload: str, size: int, *, replace: bool) -> int:
        """Where an upload to `path` goes on: 0, or the length of the part that an earlier attempt left. Idempotent.

        Raises AlreadyThere when there is such a file and it is not to be replaced, OtherKind for a folder of the name,
        NoRoom when the file system has less left than is missing.
        """
        part = part_path(path, upload)
        await self._may_become(path, replace=replace)
        with _in_words(part):
            have = await self._part_size(part)
            if have is None or have > size:
                await self._make_empty(part)
                have = 0
            await self._need_room(parent(path), size - have)
        return have

    async def write(self, path: bytes, upload: str, offset: int, pieces: AsyncIterator[bytes]) -> int:
        """Append to the part. Returns its new length. Raises OtherOffset, NoSuchFile."""
        part = part_path(path, upload)
        with _in_words(part):
            have = await self._part_size(part)
            if have is None:
                raise NoSuchFile("This upload is not known here any more.", "Begin it again.")
            if have != offset:
                raise OtherOffset(f"{have} bytes have arrived, not {offset}.", str(have))
            async with await self._client.open(part, asyncssh.FXF_WRITE, encoding=None) as file:
                async for piece in pieces:
                    await file.write(piece, offset)
                    offset += len(piece)
        return offset

    async def finish(self, path: bytes, upload: str, size: int, sha256: str, *, replace: bool) -> Entry:
        """Read the part back, compare it, and make it `path` in one step. Raises OtherOffset, AlreadyThere and, after
        which the part is gone, Damaged."""
        part = part_path(path, upload)
        with _in_words(part):
            have = await self._part_size(part)
        if have != size:
            raise OtherOffset(f"{have or 0} bytes of {size} have arrived.", str(have or 0))
        digest = hashlib.sha256()
        async with aclosing(self.pieces(part, 0, size)) as pieces:
            async for piece in pieces:
                digest.update(piece)
        if digest.hexdigest() != sha256.lower():
            await self.abandon(path, upload)
            raise Damaged(
                "What arrived is not what was sent: the SHA-256 differs. It was thrown away.",
                "Send it again.",
            )
        before = await self._may_become(path, replace=replace)
        with _in_words(path):
            if before is not None:
                await self._client.chmod(part, before & RIGHTS)
                await self._client.posix_rename(part, path)
            else:
                # Without the extension a rename never replaces: sftp-server links and then unlinks.
                await self._client.rename(part, path)
        return await self.entry(path)

    async def abandon(self, path: bytes, upload: str) -> None:
        """Idempotent."""
        part = part_path(path, upload)
        with _in_words(part):
            if await self._part_size(part) is not None:
                await self._client.remove(part)

    async def rename(self, path: bytes, to: bytes) -> Entry:
        """Never replaces. Raises AlreadyThere."""
        await self._may_become(to, replace=False)
        with _in_words(path):
            await self._client.lstat(path)
            await self._client.rename(path, to)
        return await self.entry(to)

    async def make_folder(self, path: bytes) -> Entry:
        await self._may_become(path, replace=False)
        with _in_words(path):
            await self._client.mkdir(path)
        return await self.entry(path)

    async def remove(self, path: bytes, *, recursive: bool) -> int:
        """How many entries went. A link goes, never what it leads to. Raises OtherKind for a folder that is not empty
        unless `recursive`; then, at more than MOST_REMOVED, part of it may be gone."""
        with _in_words(path):
            if kind_of((await self._client.lstat(path)).permissions or 0) != "folder":
                await self._client.remove(path)
                return 1
            return await self._remove_folder(path, recursive=recursive)

    async def _remove_folder(self, path: bytes, *, recursive: bool) -> int:
        """From the inside out, without recursion: nothing bounds how deep folders go."""
        waiting, emptied, gone = [path], [], 0
        while waiting:
            folder = waiting.pop()
            emptied.append(folder)
            for each in await self._first_names(folder, MOST_REMOVED + 1):
                if not recursive:
                    raise OtherKind(
                        f"{shown(path)} is not empty.", "Delete what is in it too, or empty it first."
                    )
                gone += 1
                if gone > MOST_REMOVED:
                    raise Failed(
                        f"{shown(path)} holds more than {MOST_REMOVED} entries; some of them are deleted.",
                        "Delete it in the terminal, with rm -r.",
                    )
                inner = joined(folder, _bytes(each.filename))
                if kind_of(each.attrs.permissions or 0) == "folder":
                    waiting.append(inner)
                else:
                    await self._client.remove(inner)
        for folder in reversed(emptied):
            await self._client.rmdir(folder)
        return gone + 1

    async def _first_names(self, folder: bytes, most: int) -> list[asyncssh.SFTPName]:
        """Left early, the listing is closed: the server keeps the folder open until then."""
        found: list[asyncssh.SFTPName] = []
        async with aclosing(self._client.scandir(folder)) as names:  # type: ignore[type-var]  # it is a generator
            async for each in names:
                if each.filename not in (b".", b".."):
                    found.append(each)
                if len(found) == most:
                    break
        return found

    async def _followed(self, entries: list[Entry]) -> list[Entry]:
        """With what links lead to, of the first MOST_FOLLOWED of them."""
        left = MOST_FOLLOWED
        found = []
        for entry in entries:
            if entry.kind == "link" and left:
                left -= 1
                entry = await self._led(entry)
            found.append(entry)
        return found

    async def _led(self, link: Entry) -> Entry:
        try:
            target = await self._client.stat(link.path)
        except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPPermissionDenied, asyncssh.SFTPFailure):
            return link
        kind = kind_of(target.permissions or 0)
        return Entry(link.path, "link", target.size or 0, link.mode, link.modified, kind)

    async def _must_be_file(self, path: bytes) -> None:
        kind = kind_of((await self._client.stat(path)).permissions or 0)
        if kind != "file":
            raise OtherKind(f"{shown(path)} is {'a folder' if kind == 'folder' else 'no regular file'}.")

    async def _may_become(self, path: bytes, *, replace: bool) -> int | None:
        """The mode of the file that is there and may be replaced; None when there is none."""
        with _in_words(path):
            try:
                mode = (await self._client.lstat(path)).permissions or 0
            except asyncssh.SFTPNoSuchFile:
                return None
        if kind_of(mode) == "folder":
            raise OtherKind(f"There is a folder {shown(path)} already.", "Choose another name.")
        if not replace:
            raise AlreadyThere(f"There is {shown(path)} already.", "Replace it, or choose another name.")
        return mode

    async def _part_size(self, part: bytes) -> int | None:
        """None when there is none. Somebody who may write to the folder could have put a link or a pipe there, which
        we would follow: that is refused."""
        try:
            found = await self._client.lstat(part)
        except asyncssh.SFTPNoSuchFile:
            return None
        if kind_of(found.permissions or 0) != "file":
            raise Failed(
                f"{shown(name_of(part))} is no file of this upload: somebody put it there.", "Look into it."
            )
        return found.size or 0

    async def _make_empty(self, part: bytes) -> None:
        if await self._part_size(part) is not None:
            await self._client.remove(part)
        async with await self._client.open(part, NEW, encoding=None):
            pass

    async def _need_room(self, folder: bytes, size: int) -> None:
        """A server that cannot say how much is left is taken at its word later."""
        try:
            system = await self._client.statvfs(folder)
        except (asyncssh.SFTPOpUnsupported, asyncssh.SFTPFailure):
            return
        left = (system.bavail or 0) * (system.frsize or 0)
        if left < size:
            raise NoRoom(
                f"{shown(folder)} has room for {left} bytes, and {size} are to come.",
                "Delete something first.",
            )


def _entry(path: bytes, attrs: asyncssh.SFTPAttrs) -> Entry:
    mode = attrs.permissions or 0
    return Entry(path, kind_of(mode), attrs.size or 0, stat.S_IMODE(mode), int(attrs.mtime or 0))


def _bytes(value: str | bytes) -> bytes:
    """Paths and contents come as bytes from a client without an encoding; its types do not say so."""
    assert isinstance(value, bytes)
    return value


@contextmanager
def _in_words(path: bytes) -> Iterator[None]:
    """SFTP has few words of its own for what went wrong (draft-ietf-secsh-filexfer-02, 7): `Failure` is most of it."""
    name = shown(path)
    try:
        yield
    except asyncssh.SFTPNoSuchFile as error:
        raise NoSuchFile(
            f"There is no {name} on the login node.", "Look at the folder again: it may be gone."
        ) from error
    except asyncssh.SFTPPermissionDenied as error:
        raise NotPermitted(
            f"The login node does not permit that for {name}.",
            "You have no more rights there than in the terminal.",
        ) from error
    except (asyncssh.SFTPNoConnection, asyncssh.SFTPConnectionLost, asyncssh.ConnectionLost) as error:
        raise Interrupted("The connection to the login node was lost.", "Try again.") from error
    except asyncssh.SFTPError as error:
        raise _failed(name, error) from error


def _failed(name: str, error: asyncssh.SFTPError) -> ConsoleError:
    said = shown(str(error.reason).encode())
    return Failed(
        f"The login node refused that for {name}: {said}.",
        "The disk or a quota may be full, or it is in use.",
    )
