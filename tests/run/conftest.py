"""A tiny console for each test that asks; whatever happens, nothing of it is left."""

import signal
import socket
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
def tiny(tmp_path: Path, port: int) -> Iterator[TinyConsole]:
    console = TinyConsole(tmp_path / "var", port)
    yield console
    if console.popen is not None:
        console.kill()
    end(console.processes(), signum=signal.SIGKILL)


@pytest.fixture
def real(tmp_path: Path, port: int) -> Iterator[TinyConsole]:
    """With the real PostgreSQL and Redis."""
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o711)
    console = TinyConsole(tmp_path / "var", port, "real")
    yield console
    if console.popen is not None:
        console.kill()
    end(console.processes(), signum=signal.SIGKILL)
