"""A terminal page without a browser: the socket, with the page's manners about credit."""

import contextlib
import json
import time
from types import TracebackType
from typing import Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

ACK_EVERY = 32 * 1024  # as static/js/terminal/wire.js


class Page:
    """Opens the socket as a signed-in person. `screen` is everything printed, `said` every control message."""

    def __init__(self, url: str, session_key: str, *, stalls: bool = False) -> None:
        host = url.split("/")[2]
        headers = {"Cookie": f"sessionid={session_key}"}
        self.connection = connect(
            url, additional_headers=headers, origin=f"http://{host}", compression=None, max_size=None
        )
        self.socket = self.connection.__enter__()
        self.stalls = stalls
        self.screen = b""
        self.received = self.unread = 0
        self.said: list[dict[str, object]] = []
        self.close_code = 0
        self.close_reason = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.socket.close()

    def open(self, columns: int = 80, rows: int = 24, **more: object) -> dict[str, object]:
        """Ask for a terminal and wait for the answer: `ready` or `refused`."""
        self.say(kind="open", columns=columns, rows=rows, **more)
        return self.wait_for("ready", "refused")

    def say(self, **message: object) -> None:
        with contextlib.suppress(ConnectionClosed):
            self.socket.send(json.dumps(message))

    def type(self, text: str) -> None:
        self.socket.send(text.encode())

    def wait_for(self, *kinds: str, within_s: float = 8) -> dict[str, object]:
        deadline = time.monotonic() + within_s
        while True:
            found = next((m for m in self.said if m["kind"] in kinds), None)
            if found:
                return found
            assert self.step(deadline), f"no {kinds} but {self.said}, closed {self.close_code}"

    def read_until(self, text: str, within_s: float = 8) -> bytes:
        """Everything up to and with `text`; what follows stays on the screen."""
        deadline = time.monotonic() + within_s
        wanted = text.encode()
        while wanted not in self.screen:
            assert self.step(deadline), f"no {text!r} in {self.screen[-400:]!r}, said {self.said[-2:]}"
        before, _, self.screen = self.screen.partition(wanted)
        return before + wanted

    def run(self, command: str, within_s: float = 8) -> str:
        """Type a command at the prompt and return what it printed."""
        self.type(f"{command}; echo '<''done>'\n")
        printed = self.read_until("<done>", within_s).decode()
        self.read_until("ready> ")
        return printed.partition("\n")[2].removesuffix("<done>")

    def wait_closed(self, within_s: float = 8) -> int:
        deadline = time.monotonic() + within_s
        while not self.close_code:
            assert self.step(deadline) or self.close_code, f"still open after {within_s} s"
        return self.close_code

    def step(self, deadline: float) -> bool:
        """Take one message. False when none came in time or the socket is closed."""
        try:
            message = self.socket.recv(timeout=max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            return False
        except ConnectionClosed as closed:
            frame = closed.rcvd
            self.close_code, self.close_reason = (frame.code, frame.reason) if frame else (1006, "")
            return False
        if isinstance(message, str):
            self.said.append(json.loads(message))
            return True
        self.screen += message
        self.received += len(message)
        self.unread += len(message)
        if self.unread >= ACK_EVERY and not self.stalls:
            self.say(kind="ack", bytes=self.unread)
            self.unread = 0
        return True
