"""A tiny console for each test that asks; whatever happens, nothing of it is left."""

import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.run.identity import end
from tests.run.console import TinyConsole


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory that others may pass through, as a checkout usually is. pytest's own is closed, by every session
    anew.
    """
    with tempfile.TemporaryDirectory(prefix="quarterdeck-home-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture
def tiny(tmp_path: Path, port: int) -> Iterator[TinyConsole]:
    console = TinyConsole(tmp_path / "var", port)
    yield console
    if console.popen is not None:
        console.kill()
    end(console.processes(), signum=signal.SIGKILL)


@pytest.fixture
def real(home: Path, port: int) -> Iterator[TinyConsole]:
    """With the real PostgreSQL and Redis."""
    console = TinyConsole(home / "var", port, "real")
    yield console
    if console.popen is not None:
        console.kill()
    end(console.processes(), signum=signal.SIGKILL)
