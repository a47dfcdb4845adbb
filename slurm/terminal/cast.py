"""Terminal recordings as asciicast v3 writes them: a header and one event a line. Pure.

https://docs.asciinema.org/manual/asciicast/v3/: `[interval, code, data]`, the interval in seconds since the event
before. Of its codes we write output (`o`), resize (`r`), marker (`m`) and exit (`x`), never input: what is typed is
not recorded, so neither is a password.
"""

import codecs
import json


class Cast:
    """What a terminal does as lines. Times are seconds of one clock; a character cut in two waits for its rest."""

    def __init__(self, now: float) -> None:
        self.began = now
        self._last = now
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def header(self, columns: int, rows: int, timestamp: int) -> bytes:
        """The first line. `timestamp` is Unix time, `columns` and `rows` the size it begins with."""
        term = {"cols": columns, "rows": rows, "type": "xterm-256color"}
        return _line({"version": 3, "term": term, "timestamp": timestamp})

    def output(self, data: bytes, now: float) -> bytes:
        text = self._decoder.decode(data)
        return self._event("o", text, now) if text else b""

    def resize(self, columns: int, rows: int, now: float) -> bytes:
        return self._event("r", f"{columns}x{rows}", now)

    def marker(self, label: str, now: float) -> bytes:
        return self._event("m", label, now)

    def exit(self, status: int, now: float) -> bytes:
        return self._event("x", str(status), now)

    def _event(self, code: str, data: str, now: float) -> bytes:
        # Rounding is carried along, or an hour of small steps would end seconds off.
        interval = round(max(0.0, now - self._last), 3)
        self._last += interval
        return _line([interval, code, data])


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
