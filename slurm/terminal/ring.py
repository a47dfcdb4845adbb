"""What a terminal printed last, in bounded memory, so that a page that comes back looks as it did.

Pure. Bytes fall off the front in the pieces they came in. A terminal's modes (alternate screen, bracketed paste, mouse,
cursor keys) are set by sequences that may be long gone, so those in force where the kept bytes begin are remembered and
come first in a replay (xterm control sequences, DECSET and DECRST: `CSI ? Pm h` and `CSI ? Pm l`).
"""

import re
from collections import deque

MODE = re.compile(rb"\x1b\[\?([0-9;]{1,40})([hl])")
# A sequence that the end of a piece cut in two.
UNFINISHED = re.compile(rb"\x1b(\[(\?[0-9;]{0,40})?)?\Z")
PIECE = 8 * 1024


class Ring:
    """The newest `limit` bytes, to within one piece, and the modes that were set before them."""

    def __init__(self, limit: int = 256 * 1024) -> None:
        self.limit = limit
        self.size = 0
        self.total = 0
        self._pieces: deque[bytearray] = deque([bytearray()])
        self._modes: dict[bytes, bytes] = {}
        self._cut = b""
        self._dropped = False

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self.total += len(data)
        for at in range(0, len(data), PIECE):
            # Echoed keys come one byte at a time: gathered here, or each would cost an object.
            if len(self._pieces[-1]) >= PIECE:
                self._pieces.append(bytearray())
            self._pieces[-1] += data[at : at + PIECE]
        while self.size > self.limit and len(self._pieces) > 1:
            self._drop(bytes(self._pieces.popleft()))

    def since(self, position: int) -> bytes | None:
        """What came after the first `position` bytes of all, None when that is no longer (or not yet) known."""
        start = self.total - self.size
        if not start <= position <= self.total:
            return None
        return b"".join(self._pieces)[position - start :]

    def replay(self) -> bytes:
        """Bytes that put a freshly reset terminal into the state of the one that was left."""
        kept = b"".join(self._pieces)
        if not self._dropped:
            return kept
        modes = b"".join(b"\x1b[?%b%b" % pair for pair in self._modes.items())
        return modes + kept[_line_start(kept) :]

    def _drop(self, piece: bytes) -> None:
        self.size -= len(piece)
        self._dropped = True
        text = self._cut + piece
        for found in MODE.finditer(text):
            for mode in found[1].split(b";"):
                self._modes[mode] = found[2]
        unfinished = UNFINISHED.search(text)
        self._cut = unfinished[0] if unfinished else b""


def _line_start(kept: bytes) -> int:
    """Where the first whole line begins, unless lines are so long that too much would go."""
    newline = kept.find(b"\n", 0, 4096)
    return newline + 1
