"""The worker against a real sshd, without web, database or Redis around it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clusters import authority
from console.errors import Unavailable
from slurm.authority import certificate
from slurm.terminal import wire
from slurm.terminal.limits import Limits
from slurm.terminal.link import Link
from slurm.terminal.registry import Place
from slurm.terminal.session import Ending, Owner
from slurm.terminal.wire import Kind
from slurm.terminal.worker import Worker
from tests.slurm.terminal.sshd import Sshd

OWNER = {"user": 1, "who": "mo", "team": 1, "cluster": "c1", "cluster_slug": "demo", "address": "127.0.0.1"}


class Cluster:
    """As much of a cluster as signing needs."""

    key = "c1"


class Nowhere:
    """A registry that is told and keeps nothing."""

    async def beat(self, path: str, sessions: list[tuple[str, Place]]) -> None: ...

    async def forget(self, session: str) -> None: ...

    async def leave(self, path: str) -> None: ...


class Away(Nowhere):
    """Redis does not answer."""

    async def beat(self, path: str, sessions: list[tuple[str, Place]]) -> None:
        raise Unavailable("Redis does not answer.")

    async def forget(self, session: str) -> None:
        raise Unavailable("Redis does not answer.")

    leave = forget


class Journal:
    """The audit trail's lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def opened(self, session: str, owner: Owner) -> None:
        self.lines.append(("opened", owner.who))

    def closed(self, session: str, owner: Owner, ending: Ending, **counts: int) -> None:
        self.lines.append(("closed", ending.code))


class Rig:
    """A running worker and the connections made to it."""

    def __init__(self, path: Path, sshd: Sshd, limits: Limits | None, registry: Nowhere) -> None:
        self.sshd = sshd
        self.journal = Journal()
        self.worker = Worker(path, registry, self.journal, limits)  # type: ignore[arg-type]

    async def link(self) -> Link:
        return Link(*await asyncio.open_unix_connection(str(self.worker.path)))

    async def opened(self, **over: object) -> tuple[Link, dict[str, Any]]:
        link = await self.link()
        login, minutes = str(over.pop("principal", self.sshd.user)), int(str(over.pop("minutes", 5)))
        signed = certificate(Cluster, login, "mo", minutes)  # type: ignore[arg-type]
        target = {
            "host": "127.0.0.1", "port": self.sshd.port, "user": self.sshd.user, "host_key": self.sshd.host_key,
            "key": signed.key, "certificate": signed.certificate, **over,
        }  # fmt: skip
        link.send(wire.message(Kind.OPEN, owner=OWNER, target=target, columns=80, rows=24))
        kind, payload = (await link.read())[0]
        return link, {"kind": kind, **wire.fields(payload)}


@pytest.fixture
def ca(monkeypatch: pytest.MonkeyPatch, sshd: Sshd) -> Ed25519PrivateKey:
    """An authority that the login node trusts, without a database behind it."""
    key = Ed25519PrivateKey.generate()
    monkeypatch.setattr(authority, "signing_key", lambda _: key)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    sshd.trust(public.decode())
    return key


@contextlib.asynccontextmanager
async def rig(
    tmp_path: Path, sshd: Sshd, limits: Limits | None = None, registry: type[Nowhere] = Nowhere
) -> AsyncIterator[Rig]:
    made = Rig(tmp_path / "w.sock", sshd, limits, registry())
    serving = asyncio.create_task(made.worker.serve())
    while not made.worker.path.exists():
        await asyncio.sleep(0.01)
    yield made
    made.worker.stop()
    await serving


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


async def until(link: Link, text: bytes) -> bytes:
    """Everything printed, up to the piece that holds `text`."""
    printed = b""
    while text not in printed:
        frames = await link.read()
        assert frames, printed
        printed += b"".join(payload for kind, payload in frames if kind == Kind.OUTPUT)
    return printed


async def said(link: Link, kind: Kind) -> dict[str, Any]:
    while True:
        frames = await link.read()
        assert frames, f"closed without {kind.name}"
        for each, payload in frames:
            if each == kind:
                return wire.fields(payload)


def test_certificate_is_accepted_and_names_the_person(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            link, ready = await made.opened()
            assert ready["kind"] == Kind.READY
            await until(link, b"ready> ")
        assert made.journal.lines == [("opened", "mo"), ("closed", "stopped")]

    run(work())
    assert 'ID "quarterdeck:mo"' in (sshd.scratch / "sshd.log").read_text()


@pytest.mark.parametrize("wrong", [{"minutes": -1}, {"principal": "root2"}])
def test_expired_and_foreign_certificates_are_refused(
    ca: object, sshd: Sshd, tmp_path: Path, wrong: dict[str, object]
) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened(**wrong)
            assert (refused["kind"], refused["code"]) == (Kind.REFUSED, "sign-in")
            assert made.journal.lines == []

    run(work())


def test_another_authority_is_refused(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    other = Ed25519PrivateKey.generate().public_key()
    line = other.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()

    async def work() -> None:
        sshd.trust(line)
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened()
            assert refused["code"] == "sign-in"

    run(work())


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_changed_host_key_refuses_with_an_explanation(
    ca: object, sshd: Sshd, tmp_path: Path, kind: str
) -> None:
    pinned = {
        "ed25519": Ed25519PrivateKey.generate().public_key(),
        "rsa": rsa_key().public_key(),
    }[kind]
    line = pinned.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()

    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened(host_key=line)
            assert refused["code"] == "host-key"
            assert "does not show the host key" in refused["sentence"]
            assert "restarts the login node" in refused["hint"]

    run(work())


def rsa_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def test_login_node_that_does_not_listen_is_said_to_be_unreachable(
    ca: object, sshd: Sshd, tmp_path: Path
) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened(port=1)
            assert refused["code"] == "unreachable"

    run(work())


def test_open_terminals_go_on_while_redis_is_away(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd, registry=Away) as made:
            link, ready = await made.opened()
            assert ready["kind"] == Kind.READY
            await until(link, b"ready> ")
            link.send(wire.frame(Kind.INPUT, b"exit\n"))
            assert (await said(link, Kind.ENDED))["code"] == "exit"

    run(work())


def test_idle_terminal_is_warned_and_then_ended(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd, Limits(idle_s=2.5, absolute_s=60, warning_s=2)) as made:
            link, _ = await made.opened()
            notice = await said(link, Kind.NOTICE)
            assert (notice["code"], "Press a key" in notice["sentence"]) == ("idle", True)
            assert (await said(link, Kind.ENDED))["code"] == "idle"
            assert made.worker.sessions == {}

    run(work())


def test_shell_that_nobody_looks_at_goes_on_and_its_output_waits(
    ca: object, sshd: Sshd, tmp_path: Path
) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            link, ready = await made.opened()
            await until(link, b"ready> ")
            link.send(wire.frame(Kind.INPUT, b"seq 1 99999; echo al''l\n"))
            link.close()
            session = made.worker.sessions[ready["session"]]
            while b"all" not in session.ring.replay():
                await asyncio.sleep(0.02)
            again = await made.link()
            again.send(
                wire.message(Kind.ATTACH, session=session.id, user=1, cluster="c1", columns=80, rows=24)
            )
            printed = await until(again, b"all")
            assert b"\n99999\r\n" in printed
            assert len(printed) < 300_000

    run(work())


def test_forgotten_yes_costs_little(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            link, ready = await made.opened()
            await until(link, b"ready> ")
            link.send(wire.frame(Kind.INPUT, b"yes\n"))
            await until(link, b"y\r\ny\r\n")
            link.close()
            session = made.worker.sessions[ready["session"]]
            while session.viewer:
                await asyncio.sleep(0.01)
            before = session.bytes_out
            await asyncio.sleep(2)
            assert session.bytes_out - before < 2.5 * 1024 * 1024

    run(work())


def test_of_too_many_terminals_the_one_left_behind_goes(
    ca: object, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slurm.terminal.worker.MOST_PER_PERSON", 2)

    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            first, ready = await made.opened()
            second, _ = await made.opened()
            _, refused = await made.opened()
            assert refused["code"] == "too-many"
            first.close()
            while made.worker.sessions[ready["session"]].viewer:
                await asyncio.sleep(0.01)
            _, third = await made.opened()
            assert third["kind"] == Kind.READY
            while ready["session"] in made.worker.sessions:
                await asyncio.sleep(0.01)
            assert ("closed", "unseen") in made.journal.lines

    run(work())


def test_connection_that_speaks_nonsense_is_cut_off(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            link = await made.link()
            link.send(b"GET / HTTP/1.1\r\n\r\n")
            assert await link.read() == []

    run(work())


def test_page_that_left_while_dialling_leaves_no_shell(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            signed = certificate(Cluster, sshd.user, "mo")  # type: ignore[arg-type]
            target = {
                "host": "127.0.0.1", "port": sshd.port, "user": sshd.user, "host_key": sshd.host_key,
                "key": signed.key, "certificate": signed.certificate,
            }  # fmt: skip
            link = await made.link()
            link.send(wire.message(Kind.OPEN, owner=OWNER, target=target, columns=80, rows=24))
            link.close()
            deadline = time.monotonic() + 5
            while made.journal.lines != [("opened", "mo"), ("closed", "unseen")]:
                assert time.monotonic() < deadline, made.journal.lines
                await asyncio.sleep(0.02)
            assert made.worker.sessions == {}

    run(work())


def test_lost_login_node_ends_the_terminal_with_a_reason(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            link, _ = await made.opened()
            await until(link, b"ready> ")
            await asyncio.to_thread(sshd.stop)
            try:
                ended = await said(link, Kind.ENDED)
            finally:
                await asyncio.to_thread(sshd.start)
            assert (ended["code"], ended["status"]) == ("lost", None)
            assert "lost" in ended["sentence"]

    run(work())
