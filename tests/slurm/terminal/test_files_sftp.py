"""Files over SFTP against a real sshd, without web, database or Redis around it."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clusters import authority
from console.errors import ConsoleError
from slurm.authority import certificate
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
from slurm.files.pool import Pool
from slurm.files.sftp import Sftp
from slurm.terminal.ssh import HostKeyChanged, SignInRefused, Target
from tests.slurm.terminal.sshd import Sshd

HOME = b"/mnt/home"
UPLOAD = "ab" * 16
Run = Callable[[Callable[[Sftp], Awaitable[Any]]], Any]


class Cluster:
    """As much of a cluster as signing needs."""

    key = "c1"


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch, sshd: Sshd) -> Target:
    key = Ed25519PrivateKey.generate()
    monkeypatch.setattr(authority, "signing_key", lambda _: key)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    sshd.trust(public.decode())
    signed = certificate(Cluster, sshd.user, "mo")  # type: ignore[arg-type]
    return Target("127.0.0.1", sshd.port, sshd.user, sshd.host_key, signed.key, signed.certificate)


@pytest.fixture
def run(target: Target) -> Run:
    """Do something with the files over a connection of its own."""

    async def work(act: Callable[[Sftp], Awaitable[Any]]) -> Any:
        pool = Pool()
        try:
            async with asyncio.timeout(30), pool.sftp(1, "c1", target) as sftp:
                return await act(sftp)
        finally:
            pool.close()

    return lambda act: asyncio.run(work(act))


@pytest.fixture
def room(sshd: Sshd, request: pytest.FixtureRequest) -> tuple[Path, bytes]:
    """A folder in the home, as we see it and as the login node does."""
    name = request.node.name.replace("[", "-").replace("]", "")
    folder = sshd.home / name
    folder.mkdir()
    return folder, HOME + b"/" + name.encode()


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for each in data:
        yield each


async def read(sftp: Sftp, path: bytes, offset: int = 0, length: int | None = None) -> bytes:
    return b"".join([piece async for piece in sftp.pieces(path, offset, length)])


def test_home_is_where_the_shell_starts(run: Run) -> None:
    assert run(lambda sftp: sftp.home()) == HOME


def test_folder_lists_folders_first_and_what_links_lead_to(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room
    (here / "b.txt").write_bytes(b"hello")
    (here / "z").mkdir()
    (here / "a-link").symlink_to("z")
    (here / "broken").symlink_to("nowhere")
    Path(os.fsdecode(bytes(here) + b"/\xff\x1b")).write_bytes(b"")
    folder = run(lambda sftp: sftp.folder(there))
    assert [(e.path.rpartition(b"/")[2], e.kind, e.leads_to) for e in folder.entries] == [
        (b"a-link", "link", "folder"),
        (b"z", "folder", ""),
        (b"b.txt", "file", ""),
        (b"broken", "link", ""),
        (b"\xff\x1b", "file", ""),
    ]
    assert folder.entries[2].size == 5 and folder.entries[4].name == "��"


def test_what_is_not_there_or_not_permitted_or_no_folder_is_said(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room
    (here / "f").write_bytes(b"x")
    for act, error in (
        (lambda sftp: sftp.folder(there + b"/none"), NoSuchFile),
        (lambda sftp: sftp.folder(there + b"/f"), OtherKind),
        (lambda sftp: sftp.remove(b"/proc/version", recursive=False), NotPermitted),
        (lambda sftp: read(sftp, there), OtherKind),
        (lambda sftp: read(sftp, b"/dev/null"), OtherKind),
    ):
        with pytest.raises(error):
            run(act)


def test_range_is_read_and_a_file_that_shrank_is_interrupted(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room
    content = bytes(range(256)) * 4000
    (here / "f").write_bytes(content)
    assert run(lambda sftp: read(sftp, there + b"/f")) == content
    assert run(lambda sftp: read(sftp, there + b"/f", 300_000, 500_000)) == content[300_000:800_000]
    with pytest.raises(Interrupted):
        run(lambda sftp: read(sftp, there + b"/f", 0, len(content) + 1))


def test_upload_goes_on_where_it_was_cut_and_appears_whole(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room
    path, data = there + b"/new \xff", b"abc" * 100_000

    async def act(sftp: Sftp) -> list[int]:
        first = await sftp.begin(path, UPLOAD, len(data), replace=False)
        half = await sftp.write(path, UPLOAD, 0, pieces(data[:1000], data[1000:150_000]))
        assert not Path(os.fsdecode(bytes(here) + b"/new \xff")).exists()
        again = await sftp.begin(path, UPLOAD, len(data), replace=False)
        whole = await sftp.write(path, UPLOAD, again, pieces(data[again:]))
        entry = await sftp.finish(path, UPLOAD, len(data), hashlib.sha256(data).hexdigest(), replace=False)
        return [first, half, again, whole, entry.size]

    assert run(act) == [0, 150_000, 150_000, 300_000, 300_000]
    assert [Path(os.fsdecode(bytes(here) + b"/new \xff")).read_bytes()] == [data]
    assert len(list(here.iterdir())) == 1


def test_chunk_at_another_offset_says_where_it_stands(run: Run, room: tuple[Path, bytes]) -> None:
    path = room[1] + b"/f"

    async def act(sftp: Sftp) -> None:
        await sftp.begin(path, UPLOAD, 10, replace=False)
        await sftp.write(path, UPLOAD, 0, pieces(b"12345"))
        await sftp.write(path, UPLOAD, 3, pieces(b"45678"))

    with pytest.raises(OtherOffset) as caught:
        run(act)
    assert caught.value.headers == {"Upload-Offset": "5"}


def test_damaged_upload_is_thrown_away(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room

    async def act(sftp: Sftp) -> None:
        await sftp.begin(there + b"/f", UPLOAD, 3, replace=False)
        await sftp.write(there + b"/f", UPLOAD, 0, pieces(b"abd"))
        await sftp.finish(there + b"/f", UPLOAD, 3, hashlib.sha256(b"abc").hexdigest(), replace=False)

    with pytest.raises(Damaged):
        run(act)
    assert list(here.iterdir()) == []


def test_replacing_keeps_the_mode_and_must_be_wanted(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room
    (here / "f").write_bytes(b"old")
    (here / "f").chmod(0o750)
    digest = hashlib.sha256(b"new").hexdigest()

    async def send(sftp: Sftp, replace: bool) -> None:
        await sftp.begin(there + b"/f", UPLOAD, 3, replace=True)
        await sftp.write(there + b"/f", UPLOAD, 0, pieces(b"new"))
        await sftp.finish(there + b"/f", UPLOAD, 3, digest, replace=replace)

    with pytest.raises(AlreadyThere):
        run(lambda sftp: send(sftp, False))
    assert (here / "f").read_bytes() == b"old"
    run(lambda sftp: sftp.abandon(there + b"/f", UPLOAD))
    run(lambda sftp: send(sftp, True))
    assert (here / "f").read_bytes() == b"new" and (here / "f").stat().st_mode & 0o777 == 0o750
    assert [each.name for each in here.iterdir()] == ["f"]


def test_link_in_the_place_of_a_part_is_not_followed(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room
    (here / "victim").write_bytes(b"keep")
    (here / f".quarterdeck-{UPLOAD}.part").symlink_to("victim")
    with pytest.raises(Failed, match="no file of this upload"):
        run(lambda sftp: sftp.begin(there + b"/f", UPLOAD, 3, replace=False))
    with pytest.raises(Failed, match="no file of this upload"):
        run(lambda sftp: sftp.write(there + b"/f", UPLOAD, 4, pieces(b"x")))
    assert (here / "victim").read_bytes() == b"keep"


def test_upload_without_room_is_not_begun(run: Run, room: tuple[Path, bytes]) -> None:
    with pytest.raises(NoRoom, match="has room for"):
        run(lambda sftp: sftp.begin(room[1] + b"/f", UPLOAD, 2**60, replace=False))


def test_rename_and_new_folder_replace_nothing(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room
    (here / "a").write_bytes(b"a")
    run(lambda sftp: sftp.make_folder(there + b"/d"))
    run(lambda sftp: sftp.rename(there + b"/a", there + b"/d/b"))
    assert (here / "d/b").read_bytes() == b"a"
    (here / "c").write_bytes(b"c")
    for taken in (
        lambda sftp: sftp.rename(there + b"/c", there + b"/d/b"),
        lambda s: s.make_folder(there + b"/c"),
    ):
        with pytest.raises(AlreadyThere):
            run(taken)
    with pytest.raises(OtherKind):
        run(lambda sftp: sftp.rename(there + b"/c", there + b"/d"))
    assert (here / "d/b").read_bytes() == b"a"


def test_deleting_takes_links_and_leaves_what_they_lead_to(run: Run, room: tuple[Path, bytes]) -> None:
    here, there = room
    (here / "kept").mkdir()
    (here / "kept/f").write_bytes(b"x")
    (here / "gone/deep/er").mkdir(parents=True)
    (here / "gone/deep/f").write_bytes(b"x")
    (here / "gone/out").symlink_to("../kept")
    with pytest.raises(OtherKind, match="not empty"):
        run(lambda sftp: sftp.remove(there + b"/gone", recursive=False))
    assert run(lambda sftp: sftp.remove(there + b"/gone", recursive=True)) == 5
    assert [each.name for each in here.iterdir()] == ["kept"] and (here / "kept/f").exists()


def test_one_connection_serves_a_person_and_a_lost_one_is_dialled_anew(target: Target) -> None:
    async def work() -> list[bool]:
        pool = Pool()
        async with pool.sftp(1, "c1", target) as first, pool.sftp(1, "c1", target) as second:
            pass
        async with pool.sftp(2, "c1", target) as other:
            pass
        first.close()
        await first.wait_closed()
        await asyncio.sleep(0.05)
        async with pool.sftp(1, "c1", target) as again:
            home = await again.home()
        pool.close()
        return [first is second, first is other, first is again, home == HOME]

    assert asyncio.run(work()) == [True, False, False, True]


@pytest.mark.parametrize(
    ("wrong", "error"), [("user", SignInRefused), ("host_key", HostKeyChanged)], ids=["principal", "host key"]
)
def test_the_door_is_the_terminal_s(
    target: Target, sshd: Sshd, wrong: str, error: type[ConsoleError]
) -> None:
    strange = Ed25519PrivateKey.generate().public_key()
    line = strange.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    other = {"user": "root", "host_key": line}[wrong]

    async def work() -> None:
        async with Pool().sftp(1, "c1", Target(**{**vars(target), wrong: other})):
            pass

    with pytest.raises(error):
        asyncio.run(work())
