"""A line between browser and console that breaks once: a proxy of TCP connections on loopback."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class BreakingLine:
    """Passes bytes to `port`; the first connection that has brought `most` bytes back is reset there, once."""

    def __init__(self, port: int, most: int) -> None:
        self._to = port
        self._most = most
        self._lock = threading.Lock()
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._carry, args=(far, near, True), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(64 * 1024):
                sink.sendall(data)
                passed += len(data)
                if is_answer and passed >= self._most and self._is_first():
                    break
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _is_first(self) -> bool:
        with self._lock:
            self.cuts += 1
            self._most = 2**62
            return self.cuts == 1
