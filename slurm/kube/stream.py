"""A websocket to a pod: numbered channels of bytes, both ways at once, without blocking on either.

Not the vendor's `stream`: that has no time limit for connecting, reads as long as something comes however much it is,
and takes authorities by file name only. Protocols: `v4.channel.k8s.io` and `v5.channel.k8s.io`
(staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go of Kubernetes): the first byte of a message is the
channel, and in v5 `255 n` closes channel n.
"""

import select
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode, urlsplit

from websocket import ABNF, WebSocket, WebSocketBadStatusException, WebSocketException
from websocket import WebSocketConnectionClosedException as ConnectionGone

from console.errors import ConsoleError, Missing, Rejected, Unavailable
from slurm.kube.errors import Asked, refusal
from slurm.kube.unreachable import no_answer
from slurm.kube.wire import Wire

V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
_CLOSE = 255
_CHUNK = 2**15


class Stream:
    """`put` queues, `send` and `messages` move what can be moved. Not safe for threads."""

    def __init__(self, opened: WebSocket, carrier: socket.socket) -> None:
        self._opened = opened
        self._socket = carrier
        self._socket.settimeout(0)
        self._queue = bytearray()
        self._channel = 0
        self._takes_more = True
        self.ended = False

    @property
    def queued(self) -> int:
        """Bytes that were put and are not sent yet."""
        return len(self._queue)

    @property
    def can_close_channels(self) -> bool:
        return self._opened.subprotocol == V5

    def put(self, channel: int, data: bytes) -> None:
        for start in range(0, len(data), _CHUNK):
            self._frame(bytes([channel]) + data[start : start + _CHUNK])

    def close_channel(self, channel: int) -> None:
        self._frame(bytes([_CLOSE, channel]))

    def fileno(self) -> int:
        return self._socket.fileno()

    def events(self, *, reading: bool) -> int:
        """What to poll for."""
        return (select.POLLIN if reading else 0) | (select.POLLOUT if self._queue else 0)

    def has_more(self) -> bool:
        """Whether something decrypted waits that polling does not show."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def wait(self, timeout_s: float) -> None:
        """Until there is something to read or room to send."""
        poll = select.poll()
        poll.register(self, self.events(reading=True))
        poll.poll(0 if self.has_more() else max(0.0, timeout_s) * 1000)

    def send(self) -> None:
        """As much of what was put as goes without waiting; nothing any more once the other side takes no more.

        That is no error: a command may end before it has read its input, and what it said is still to be read.
        """
        if not self._queue:
            return
        try:
            sent = self._socket.send(self._queue[: 2 * _CHUNK])
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return
        except OSError:
            self._takes_more = False
            self._queue.clear()
            return
        del self._queue[:sent]

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """What has come, by channel, until nothing more is there. Then look at `ended`."""
        while not self.ended:
            try:
                frame = self._opened.recv_frame()
            except (BlockingIOError, ssl.SSLWantReadError):
                return
            except ConnectionGone:
                self.ended = True
                return
            yield from self._met(frame)

    def close(self) -> None:
        self._opened.shutdown()

    def _met(self, frame: ABNF) -> Iterator[tuple[int, bytes]]:
        data = frame.data if isinstance(frame.data, bytes) else b""
        if frame.opcode == ABNF.OPCODE_CLOSE:
            self.ended = True
        elif frame.opcode == ABNF.OPCODE_PING:
            self._queue += ABNF.create_frame(data, ABNF.OPCODE_PONG).format()
        elif frame.opcode == ABNF.OPCODE_CONT:
            yield self._channel, data
        elif frame.opcode in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT) and data:
            self._channel = data[0]
            yield self._channel, data[1:]

    def _frame(self, data: bytes) -> None:
        if self._takes_more:
            self._queue += ABNF.create_frame(data, ABNF.OPCODE_BINARY).format()


def open_stream(
    wire: Wire,
    asked: Asked,
    path: str,
    query: Sequence[tuple[str, str]],
    protocols: Sequence[str],
    limit_s: float,
) -> Stream:
    """Raises Unpermitted; Unavailable for every other refusal, and when there is no answer within `limit_s`."""
    wire.requests[asked.verb] += 1
    deadline = time.monotonic() + limit_s
    try:
        plain = _connected(wire, limit_s)
        try:
            left_s = max(0.1, deadline - time.monotonic())
            return Stream(_upgraded(wire, plain, path, query, protocols, left_s), plain)
        except BaseException:
            plain.close()
            raise
    except WebSocketBadStatusException as error:
        raise _of_a_pod(refusal(asked, error.status_code, error.resp_body or b"")) from error
    except (WebSocketException, OSError) as error:
        raise no_answer(asked, wire.access.server, error, limit_s) from error


def _of_a_pod(refused: ConsoleError) -> ConsoleError:
    """Pods come and go: one that is not there, or a container that is not, may be there later."""
    if isinstance(refused, Missing | Rejected):
        return Unavailable(refused.message, "The pod has gone or not started yet; see the cluster's parts.")
    return refused


def _connected(wire: Wire, limit_s: float) -> socket.socket:
    server = urlsplit(wire.access.server)
    port = server.port or (443 if wire.tls else 80)
    plain = socket.create_connection((server.hostname, port), limit_s)
    if not wire.tls:
        return plain
    try:
        return wire.tls.wrap_socket(plain, server_hostname=wire.access.server_name or server.hostname)
    except BaseException:
        plain.close()
        raise


def _upgraded(
    wire: Wire,
    plain: socket.socket,
    path: str,
    query: Sequence[tuple[str, str]],
    protocols: Sequence[str],
    limit_s: float,
) -> WebSocket:
    plain.settimeout(limit_s)
    token = wire.bearer()
    opened = WebSocket(skip_utf8_validation=True)
    opened.connect(
        f"{wire.access.server.replace('http', 'ws', 1)}{path}?{urlencode(query)}",
        socket=plain,
        header=[f"Authorization: Bearer {token}"] if token else [],
        subprotocols=list(protocols),
        suppress_origin=True,
        redirect_limit=0,
    )
    return opened
