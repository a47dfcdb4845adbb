"""The worker against a real sshd: who gets a shell, and how each ends."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slurm.authority import certificate
from slurm.terminal import wire
from slurm.terminal.limits import Limits
from slurm.terminal.wire import Kind
from tests.slurm.terminal.rig import OWNER, Away, Cluster, rig, run, said, until
from tests.slurm.terminal.sshd import Sshd


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
            assert "accepts the new one, or restarts the login node" in refused["hint"]
            assert refused["presented"] == sshd.host_key

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
            assert 0 < notice["left_s"] <= 2
            assert (await said(link, Kind.ENDED))["code"] == "idle"
            assert made.worker.sessions == {}

    run(work())


def test_key_takes_the_warning_back_but_not_the_absolute_one(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd, Limits(idle_s=6, absolute_s=12, warning_s=4)) as made:
            link, _ = await made.opened()
            assert (await said(link, Kind.NOTICE))["code"] == "idle"
            link.send(wire.frame(Kind.INPUT, b" "))
            assert (await said(link, Kind.NOTICE))["code"] == ""
            while (notice := await said(link, Kind.NOTICE))["code"] != "absolute":
                link.send(wire.frame(Kind.INPUT, b" "))
            assert notice["left_s"] <= 4
            link.send(wire.frame(Kind.INPUT, b" "))
            assert (await said(link, Kind.ENDED))["code"] == "absolute"

    run(work())


def test_unseen_terminal_of_a_removed_person_ends(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            link, _ = await made.opened()
            await until(link, b"ready> ")
            made.rights.why = "You are not in the team."
            link.close()
            began = time.monotonic()
            while made.worker.sessions:
                assert time.monotonic() - began < 5
                await asyncio.sleep(0.02)
            assert made.journal.lines[-1] == ("closed", "revoked")

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


def test_worker_that_is_stopped_tells_every_page_and_ends(ca: object, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            opened = [await made.opened(user=1 + number // 10) for number in range(30)]
            assert all(ready["kind"] == Kind.READY for _, ready in opened)
            made.worker.stop()
            for link, _ in opened:
                ended = await said(link, Kind.ENDED)
                assert (ended["code"], "was stopped" in ended["sentence"]) == ("stopped", True)
        assert made.journal.lines.count(("closed", "stopped")) == 30 and made.worker.sessions == {}

    run(work(), within_s=120)


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
