"""What stops a run before it starts: one clear line each, saying what to do."""

import os
import shutil
import socket
from collections import namedtuple
from pathlib import Path

import pytest

from console.run import checks
from console.run.layout import Layout
from console.run.steps import CannotRun
from tests.run.console import TinyConsole


def test_a_port_in_use_is_named_with_its_user_and_a_free_one(tiny: TinyConsole) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", tiny.port))
        taken.listen()
        tiny.start()
        assert tiny.wait() == 1
    lines = [line for line in tiny.text().splitlines() if line.startswith("quarterdeck:")]
    assert len(lines) == 1
    assert f"port {tiny.port} is in use by " in lines[0] and f"(pid {os.getpid()})" in lines[0]
    assert "make run PORT=" in lines[0]
    assert tiny.processes() == []


def test_a_port_just_left_is_free(port: int) -> None:
    with socket.socket() as server, socket.socket() as client:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as every web server does
        server.bind(("127.0.0.1", port))
        server.listen()
        client.connect(("127.0.0.1", port))
        server.accept()[0].close()  # whoever closes first keeps the port in TIME_WAIT
    checks.check_port(port)


@pytest.mark.parametrize("text", ["no", "0", "65536", "-1", "80a"])
def test_what_is_no_port_is_said_so(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("PORT", text)
    with pytest.raises(CannotRun, match=f"PORT={text} is not a port"):
        checks.chosen_port()


def test_the_port_is_8000_unless_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORT", raising=False)
    assert checks.chosen_port() == 8000
    monkeypatch.setenv("PORT", "8123")
    assert checks.chosen_port() == 8123


def test_a_full_disk_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**11, 10**11, 10**9))
    with pytest.raises(CannotRun) as problem:
        checks.check_disk(tmp_path / "not" / "there")
    assert problem.value.line() == (
        f"quarterdeck: only 0.9 GB are free on the disk of {tmp_path}: free at least 2 GB there"
    )


def test_a_var_that_is_no_directory_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("")
    with pytest.raises(CannotRun, match=r"var.* cannot be written"):
        Layout(tmp_path, tmp_path / "var").make()


def test_a_squatted_socket_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    layout = Layout(deep, deep / "var")
    layout.sockets.symlink_to(tmp_path)
    with pytest.raises(CannotRun, match="belongs to someone else"):
        layout.make()


def test_a_port_of_a_thousand_digits_is_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9" * 5000)
    with pytest.raises(CannotRun, match="is not a port"):
        checks.chosen_port()
