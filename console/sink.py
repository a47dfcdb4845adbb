"""A copy of the audit trail outside of the database: `settings.AUDIT_SINK`, a file of JSON lines or a syslog address.

Fed after the commit by one thread of each process, so that a full disk or a deaf syslog delays nobody; what could not
be written is said in the log, and `manage.py audit verify` needs no sink. Who holds the file can prove with
`audit verify --sink` that the trail's end was not cut off.
"""

import atexit
import json
import logging
import os
import queue
import socket
import threading
from datetime import UTC
from functools import cache
from logging.handlers import SysLogHandler
from urllib.parse import urlsplit

from django.conf import settings

from console.models import Event

log = logging.getLogger(__name__)
# What may wait: some minutes of a busy console, 10 MB.
MOST_WAITING = 10_000
FLUSH_S = 5.0
LOCAL0_INFO = SysLogHandler.LOG_LOCAL0 * 8 + SysLogHandler.LOG_INFO


def tell(event: Event) -> None:
    """Hand the event on. Never blocks and never raises; does nothing where no sink is set."""
    if not settings.AUDIT_SINK:
        return
    try:
        _queue(os.getpid()).put_nowait((settings.AUDIT_SINK, line(event)))
    except queue.Full:
        log.error("audit sink %s is too slow: event %s left out", settings.AUDIT_SINK, event.pk)


def line(event: Event) -> str:
    """The event as one line of JSON, without the line's end."""
    names = (
        "team_slug",
        "who",
        "user_id",
        "as_staff",
        "verb",
        "cluster",
        "target",
        "outcome",
        "detail",
        "address",
    )
    place = ("chain", "number", "previous", "digest")
    at = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    return json.dumps({"at": at, **{name: getattr(event, name) for name in (*names, *place)}})


def flush() -> None:
    """Wait until what was told is written or given up; at most five seconds."""
    done = threading.Event()
    _queue(os.getpid()).put((None, done))
    done.wait(FLUSH_S)


Waiting = queue.Queue[tuple[str | None, "str | threading.Event"]]


@cache
def _queue(process: int) -> Waiting:
    """Of this process: a forked worker inherits no thread, and asks under another number."""
    waiting: Waiting = queue.Queue(MOST_WAITING)
    threading.Thread(target=_feed, args=(waiting,), name="audit-sink", daemon=True).start()
    # Daemon threads are stopped only after these.
    atexit.register(flush)
    return waiting


def _feed(waiting: Waiting) -> None:
    while True:
        sink, text = waiting.get()
        if isinstance(text, threading.Event):
            text.set()
        elif sink:
            _write(sink, text)


def _write(sink: str, text: str) -> None:
    try:
        if sink.startswith("syslog:"):
            _to_syslog(sink, text)
        else:
            _to_file(sink, text)
    except OSError as error:
        log.error("audit sink %s: not written: %s: %s", sink, error, text)


def _to_file(path: str, text: str) -> None:
    """One write to the end: lines of several processes do not mix, and a rotated file is made anew."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        whole = f"{text}\n".encode()
        if os.write(descriptor, whole) < len(whole):
            raise OSError("written in part: is the disk full?")
    finally:
        os.close(descriptor)


def _to_syslog(address: str, text: str) -> None:
    """As a datagram (RFC 3164's frame): `syslog://host:port`, or `syslog:/dev/log`."""
    parts = urlsplit(address)
    message = f"<{LOCAL0_INFO}>quarterdeck-audit: {text}".encode()
    if parts.hostname is None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as local:
            local.settimeout(FLUSH_S)
            local.sendto(message, parts.path)
        return
    kind, _, _, _, target = socket.getaddrinfo(parts.hostname, parts.port or 514, type=socket.SOCK_DGRAM)[0]
    with socket.socket(kind, socket.SOCK_DGRAM) as remote:
        remote.sendto(message, target)
