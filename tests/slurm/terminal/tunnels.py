"""A tunnel to the tests' sshd as a platform makes one: a socket pair, and a thread that carries bytes between."""

import socket
import threading
from collections.abc import Mapping

from console.errors import Unavailable

# Tunnels whose both ends are still open, and those that were ever opened.
OPEN: set[socket.socket] = set()
OPENED: list[Mapping[str, str]] = []
# Openers wait for this before they answer.
gate = threading.Event()
gate.set()


def open_tunnel(tunnel: Mapping[str, str]) -> socket.socket:
    if tunnel["pod"] == "gone":
        raise Unavailable("The login pod is not there.", "See its events.")
    gate.wait(10)
    ours, theirs = socket.socketpair()
    there = socket.create_connection(("127.0.0.1", int(tunnel["port"])))
    OPEN.add(there)
    OPENED.append(tunnel)
    for source, sink in ((theirs, there), (there, theirs)):
        threading.Thread(target=_carry, args=(source, sink, there), daemon=True).start()
    return ours


def _carry(source: socket.socket, sink: socket.socket, there: socket.socket) -> None:
    try:
        while data := source.recv(64 * 1024):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue
    OPEN.discard(there)
