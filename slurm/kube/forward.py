"""A port of a pod as a socket (`pods/portforward`): for sshd on login nodes that have no address of their own.

Channels: 0 carries the bytes, 1 the kubelet's complaint; each begins with the port's number in two bytes
(pkg/kubelet's cri/streaming/portforward/websocket.go). There is no half-close: either end closing ends it.
"""

import select
import socket
import struct
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

import structlog
from websocket import WebSocketException

from console.errors import Unavailable
from slurm.kube.errors import Asked
from slurm.kube.stream import V4, Stream, open_stream
from slurm.kube.unreachable import no_answer
from slurm.kube.wire import Wire

log = structlog.get_logger()
_DATA, _COMPLAINT = 0, 1
_MOST_WAITING = 2**18
_CHUNK = 2**15
_PORT_BYTES = 2


def forward_to_pod(wire: Wire, asked: Asked, path: str, port: int) -> socket.socket:
    """Blocks until the tunnel stands; a thread of its own then carries the bytes until either end closes."""
    stream = open_stream(wire, asked, path, [("ports", str(port))], (V4,), wire.timeout_s)
    try:
        early = _await_start(stream, asked, port, wire.timeout_s)
    except (WebSocketException, OSError) as error:
        stream.close()
        raise no_answer(asked, wire.access.server, error, wire.timeout_s) from error
    except BaseException:
        stream.close()
        raise
    ours, theirs = socket.socketpair()
    pump = _Pump(stream, ours, early, asked)
    threading.Thread(target=pump.run, name=f"forward {asked.what}", daemon=True).start()
    return theirs


def _await_start(stream: Stream, asked: Asked, port: int, limit_s: float) -> bytes:
    """Until both channels have named the port; what came on the first since then. No more is read than that."""
    came = {_DATA: bytearray(), _COMPLAINT: bytearray()}
    deadline = time.monotonic() + limit_s
    while not _has_started(came):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        stream.wait(left_s)
        for channel, data in stream.messages():
            came[channel] += data
            if _has_started(came):
                break
        if stream.ended and not _has_started(came):
            raise Unavailable(f"Could not {asked.words}: the pod's machine closed the connection.")
    if complaint := came[_COMPLAINT][2:]:
        raise Unavailable(f"Could not {asked.words}: {_text(complaint)}")
    if came[_DATA][:2] != struct.pack("<H", port):
        raise Unavailable(f"Could not {asked.words}: the answer could not be read.")
    return bytes(came[_DATA][2:])


def _has_started(came: Mapping[int, bytes | bytearray]) -> bool:
    return all(len(data) >= _PORT_BYTES for data in came.values())


class _Pump:
    """Carries bytes between the stream and our end of the pair. A side is not read while the other is full."""

    def __init__(self, stream: Stream, local: socket.socket, early: bytes, asked: Asked) -> None:
        self.stream, self.local, self.asked = stream, local, asked
        self.waiting = bytearray(early)
        self.local_ended = False
        local.setblocking(False)

    def run(self) -> None:
        try:
            while not self._is_over():
                self._wait()
                self._from_pod()
                self.stream.send()
                self._from_here()
                self._to_here()
        except (WebSocketException, OSError) as error:
            log.info("forward_broke", asked=self.asked.words, error=type(error).__name__)
        finally:
            self.local.close()
            with suppress(WebSocketException, OSError):
                self.stream.close()

    def _is_over(self) -> bool:
        if self.local_ended:
            return self.stream.ended or not self.stream.queued
        return self.stream.ended and not self.waiting

    @property
    def _reads_pod(self) -> bool:
        return not self.stream.ended and len(self.waiting) < _MOST_WAITING

    @property
    def _reads_here(self) -> bool:
        return not self.local_ended and self.stream.queued < _MOST_WAITING

    def _wait(self) -> None:
        poll = select.poll()
        here = (select.POLLIN if self._reads_here else 0) | (select.POLLOUT if self.waiting else 0)
        there = 0 if self.stream.ended else self.stream.events(reading=self._reads_pod)
        # With no event asked for, poll still tells of a hang-up, again and again.
        for end, events in ((self.local, here), (self.stream, there)):
            if events:
                poll.register(end, events)
        poll.poll(0 if self._reads_pod and self.stream.has_more() else None)

    def _from_pod(self) -> None:
        if not self._reads_pod:
            return
        for channel, data in self.stream.messages():
            if channel == _DATA:
                self.waiting += data
            elif channel == _COMPLAINT:
                log.info("forward_refused", asked=self.asked.words, complaint=_text(data))
            if not self._reads_pod:
                return

    def _from_here(self) -> None:
        if not self._reads_here:
            return
        try:
            data = self.local.recv(_CHUNK)
        except BlockingIOError:
            return
        self.local_ended = not data
        self.stream.put(_DATA, data)

    def _to_here(self) -> None:
        if not self.waiting or self.local_ended:
            return
        with suppress(BlockingIOError):
            del self.waiting[: self.local.send(self.waiting[:_CHUNK])]


def _text(complaint: bytes | bytearray) -> str:
    return complaint.decode("utf-8", "replace")[:300]
