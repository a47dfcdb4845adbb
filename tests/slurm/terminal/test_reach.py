"""A terminal over TLS between machines, as over a socket; and who is not let in."""

import asyncio
import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from slurm.terminal import reach
from slurm.terminal.link import PIECE
from slurm.terminal.wire import Kind, frame, message
from tests.slurm.terminal.rig import rig, run, until
from tests.slurm.terminal.sshd import Sshd, free_port

MIB = 1 << 20


@pytest.fixture
def address() -> str:
    return f"{reach.TLS}127.0.0.1:{free_port()}"


def test_a_terminal_is_held_over_tls(ca: object, sshd: Sshd, tmp_path: Path, address: str) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd, address=address) as made:
            link, ready = await made.opened()
            assert ready["kind"] == Kind.READY
            await until(link, b"ready> ")
            link.send(frame(Kind.INPUT, b"head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the'-'end\n"))
            printed = await until(link, b"the-end")
            assert printed.count(b"x") >= 3_000_000
            link.close()
        assert made.journal.lines[-1] == ("closed", "stopped")

    run(work())


async def _is_cut_off(address: str, context: ssl.SSLContext | None) -> bool:
    """Whether the worker ends the connection with nothing said but an alert of TLS."""
    host, port = address.removeprefix(reach.TLS).split(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
        writer.write(message(Kind.OPEN, owner={}, target={}, columns=80, rows=24))
        heard = await asyncio.wait_for(reader.read(), 20)
    except (ssl.SSLError, ConnectionError):
        return True
    writer.close()
    return len(heard) < 16


def test_who_has_another_secret_is_not_let_in(
    ca: object, sshd: Sshd, tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd, address=address) as made:
            monkeypatch.setattr(settings, "SECRET_KEY", "another")
            with pytest.raises(ssl.SSLCertVerificationError):
                await reach.connect(address, limit=PIECE, within_s=5)
            # One that believes the worker, and has nothing to show or another's certificate.
            for shows in (False, True):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                if shows:
                    reach._load(context, reach._identity("another"))
                assert await _is_cut_off(address, context)
            # And one that does not speak TLS.
            assert await _is_cut_off(address, None)
            assert made.journal.lines == []

    run(work())


def test_two_processes_make_the_same_identity() -> None:
    show = "import sys; from slurm.terminal import reach; print(b''.join(reach._identity(sys.argv[1])).hex())"
    both = {subprocess.check_output([sys.executable, "-c", show, "one secret"]) for _ in range(2)}
    assert both == {b"".join(reach._identity("one secret")).hex().encode() + b"\n"}
    assert reach._identity("one secret") != reach._identity("another secret")


def test_the_key_is_in_no_file() -> None:
    reach._contexts.cache_clear()
    reach._contexts("a secret for this test")
    assert "terminal-link" not in Path("/proc/self/maps").read_text()
    left = subprocess.check_output(["ls", "-l", f"/proc/{os.getpid()}/fd"], text=True)
    assert " -> " in left and "terminal-link" not in left


@pytest.mark.parametrize(
    "wrong", ["nowhere", ":7022", "host:", "host:0", "host:65535", "host:x", "host:70000"]
)
def test_an_address_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(CommandError, match="names no host and port"):
        call_command("terminals", "--listen", wrong)


def test_files_are_moved_beside(tmp_path: Path) -> None:
    assert reach.beside("/run/terminals-7.sock") == "/run/terminals-7.files"
    assert reach.beside("tls:10.0.0.7:7022") == "tls:10.0.0.7:7023"
    assert reach.beside("tls:[fd00::7]:7022") == "tls:[fd00::7]:7023"
    with pytest.raises(ValueError, match="too long"):
        reach.check(f"/{'x' * 110}")
