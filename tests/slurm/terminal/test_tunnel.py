"""Terminals through a platform's tunnel: real sshd, and a socket pair instead of an address."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client

from clusters.models import Region
from clusters.provisioner import LoginEndpoint
from slurm.terminal import shell, wire
from slurm.terminal.opening import ssh_command
from slurm.terminal.wire import Kind
from tests.slurm.terminal import tunnels
from tests.slurm.terminal.rig import rig, run, said, until
from tests.slurm.terminal.sshd import Sshd

NAMES = {"host": "slinky-login.research-lab", "port": 22}


@pytest.fixture(autouse=True)
def _openers(settings) -> None:
    settings.TUNNELS = {"pair": "tests.slurm.terminal.tunnels.open_tunnel"}
    tunnels.OPENED.clear()


def tunnel(sshd: Sshd, **over: str) -> dict[str, str]:
    return {"kind": "pair", "pod": "login-0", "port": str(sshd.port), **over}


async def closed(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not what():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_a_shell_opens_through_the_tunnel_and_takes_it_down_at_its_end(
    ca, sshd: Sshd, tmp_path: Path
) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            link, ready = await made.opened(**NAMES, tunnel=tunnel(sshd))
            assert ready["kind"] == Kind.READY
            await until(link, b"ready> ")
            link.send(wire.frame(Kind.INPUT, b"seq 1 20000; echo al''l\n"))
            assert b"\n20000\r\n" in await until(link, b"all")
            assert [tunnel(sshd)] == tunnels.OPENED
            link.send(wire.frame(Kind.INPUT, b"exit 3\n"))
            assert (await said(link, Kind.ENDED))["status"] == 3
            await closed(lambda: not tunnels.OPEN)

    run(work())


def test_the_host_key_is_pinned_behind_the_tunnel_too(ca, sshd: Sshd, tmp_path: Path) -> None:
    other = Ed25519PrivateKey.generate().public_key()
    line = other.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()

    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened(**NAMES, tunnel=tunnel(sshd), host_key=line)
            assert refused["code"] == "host-key"
            assert "answers at slinky-login.research-lab does" in refused["sentence"]
            await closed(lambda: not tunnels.OPEN)

    run(work())


def test_what_the_platform_says_reaches_the_page(ca, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened(**NAMES, tunnel=tunnel(sshd, pod="gone"))
            assert (refused["sentence"], refused["hint"]) == (
                "The login pod is not there.",
                "See its events.",
            )

    run(work())


def test_a_tunnel_that_nobody_can_open_is_refused(ca, sshd: Sshd, tmp_path: Path) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened(**NAMES, tunnel=tunnel(sshd, kind="wormhole"))
            assert (refused["code"], "wormhole" in refused["sentence"]) == ("no-way", True)

    run(work())


def test_a_tunnel_that_opens_too_late_is_closed(ca, sshd: Sshd, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(shell, "DIAL_S", 0.3)
    tunnels.gate.clear()

    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened(**NAMES, tunnel=tunnel(sshd))
            assert refused["code"] == "unreachable"
            assert "slinky-login.research-lab does not answer" in refused["sentence"]
            tunnels.gate.set()
            await closed(lambda: bool(tunnels.OPENED) and not tunnels.OPEN)

    try:
        run(work())
    finally:
        tunnels.gate.set()


def test_no_command_is_shown_for_an_address_that_is_only_a_name() -> None:
    assert ssh_command(LoginEndpoint("login", 22, "mo", "ssh-ed25519 A", tunnel={"kind": "pair"})) == ""
    assert ssh_command(LoginEndpoint("login", 2222, "mo", "ssh-ed25519 A")) == "ssh -p 2222 mo@login"


@pytest.mark.django_db
def test_the_page_says_that_ssh_from_elsewhere_does_not_work(cluster, client: Client, settings) -> None:
    settings.PROVISIONERS = {"private-sshd": "tests.slurm.terminal.provisioner.PrivateSshd"}
    Region.objects.update(config={**cluster.region.config, "tunnel": {"kind": "pair", "pod": "login-0"}})
    client.force_login(cluster.team.memberships.first().user)
    page = f"/t/{cluster.team.slug}/c/{cluster.slug}/"
    html = client.get(f"{page}terminal/").content.decode()
    assert "ssh-command" not in html
    assert "made through the platform" in html
    html = client.get(page).content.decode()
    assert 'id="ssh"' not in html
    assert "reaches the login node through the platform" in html
