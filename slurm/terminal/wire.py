"""What a consumer and a terminal worker say to each other: frames over a stream socket.

A frame is one byte of kind, four bytes of length (big endian), and that many bytes: terminal bytes or a JSON object.
Pure. Neither side trusts the other with its memory: a frame longer than `LARGEST` is a fault, and input is sent only
against credit (`WINDOW` bytes, given back by TAKEN), so that no control frame ever waits behind typed bytes. Output
needs no credit: a consumer that does not read fills the socket, and the worker then stops reading from the login node.
"""

import json
import struct
from enum import IntEnum

from console.errors import ConsoleError

HEAD = struct.Struct("!BI")
LARGEST = 1 << 20
WINDOW = 256 * 1024


class Kind(IntEnum):
    """Consumer to worker below 16, worker to consumer from 16 on."""

    OPEN = 1
    ATTACH = 2
    INPUT = 3
    RESIZE = 4
    END = 5
    JOIN = 6
    SHARE = 7
    ALLOW = 8
    CLOSE = 9
    READY = 16
    OUTPUT = 17
    TAKEN = 18
    NOTICE = 19
    ENDED = 20
    REFUSED = 21
    WATCHERS = 22
    SIZE = 23


class Garbled(ConsoleError):
    """The other side does not speak this protocol, or broke it."""

    code = "garbled"


def frame(kind: Kind, payload: bytes = b"") -> bytes:
    return HEAD.pack(kind, len(payload)) + payload


def message(kind: Kind, **fields: object) -> bytes:
    return frame(kind, json.dumps(fields).encode())


def fields(payload: bytes) -> dict[str, object]:
    """The JSON object of a control frame. Raises Garbled."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise Garbled("A terminal control frame is not JSON.") from error
    if not isinstance(found, dict):
        raise Garbled("A terminal control frame is not an object.")
    return found


class Decoder:
    """Cuts a byte stream into frames. Holds at most one unfinished frame."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Kind, bytes]]:
        """The frames that `data` completed. Raises Garbled, after which the stream is useless."""
        self._buffer += data
        found = []
        at = 0
        while len(self._buffer) - at >= HEAD.size:
            kind, length = self._head(at)
            end = at + HEAD.size + length
            if len(self._buffer) < end:
                break
            found.append((kind, bytes(self._buffer[at + HEAD.size : end])))
            at = end
        del self._buffer[:at]
        return found

    def _head(self, at: int) -> tuple[Kind, int]:
        kind, length = HEAD.unpack_from(self._buffer, at)
        if length > LARGEST or kind not in Kind.__members__.values():
            raise Garbled(f"A terminal frame of kind {kind} with {length} bytes makes no sense.")
        return Kind(kind), length
