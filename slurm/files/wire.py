"""What web and worker say to each other about files: one question a connection, in frames as the terminal's.

    to the worker   ASK {what, owner, target, ...}   then, for `write`, PIECEs of bytes and an END
    from it         BYTES, any number, then ANSWER {...}; or at any point REFUSED {code, sentence, hint}

Both ends read no faster than they can pass on: back-pressure is the socket's own. The worker's socket for files lies
beside its address for terminals (`reach.beside`), so that the registry need not know of it.
"""

import json
from asyncio import IncompleteReadError, StreamReader
from enum import IntEnum

from slurm.terminal.wire import HEAD, LARGEST, Garbled

# Bytes that are read from the login node, or sent to it, at once. With four transfers of one person: a few MiB.
PIECE = 256 * 1024


class Part(IntEnum):
    ASK = 1
    PIECE = 2
    END = 3
    ANSWER = 16
    BYTES = 17
    REFUSED = 18


def frame(part: Part, payload: bytes = b"") -> bytes:
    return HEAD.pack(part, len(payload)) + payload


def message(part: Part, **said: object) -> bytes:
    return frame(part, json.dumps(said).encode())


async def next_frame(reader: StreamReader) -> tuple[Part, bytes] | None:
    """None when the other side has closed. Raises Garbled."""
    try:
        kind, length = HEAD.unpack(await reader.readexactly(HEAD.size))
        if length > LARGEST or kind not in Part.__members__.values():
            raise Garbled(f"A frame of kind {kind} with {length} bytes makes no sense.")
        return Part(kind), await reader.readexactly(length)
    except (IncompleteReadError, ConnectionError):
        return None
