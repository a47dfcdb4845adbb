"""Terminals without the browser: throughput beside OpenSSH's client and ttyd, added latency, memory, 200 at once.

All ways lead to the same login node and are measured in turns; the ratios are of the best turns. On a busy machine a
way of more processes gets more of it, so where we may (as root) everything here goes before others.
`python -m tests.bench terminal` runs this alone.
"""

import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from console.errors import Unavailable
from tests.bench.login_node import ByClient, ByWorker, Node, Way, login_node, terminal_worker
from tests.bench.ttyd import ByTtyd, ttyd

FILE_MB = 50
TURNS = 5
ROUNDS, KEYS = 5, 400
MANY = 200
A_PERSON = 10
WARM = 10
LEAST_OF_SSH, LEAST_OF_TTYD = 0.5, 1.0
MOST_ADDED_MS = 5.0
MOST_KIB = 1024
MOST_STOP_S = 10.0
ABOVE = "   ABOVE THE TARGET"


def lines() -> Iterator[str]:
    with ExitStack() as stack:
        before = "before others" if stack.enter_context(first_in_line()) else "beside others"
        yield f"terminal    measured {before}, at a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="qd-bench-term-")))
        scratch.chmod(0o755)
        node = stack.enter_context(login_node(scratch))
        address, _ = stack.enter_context(terminal_worker(scratch))
        yield from throughput(node, address, scratch)
        yield from latency(node, address)
        # Of its own: one that has moved megabytes has memory to reuse, and would seem to need none.
        fresh, pid = stack.enter_context(terminal_worker(scratch / "fresh"))
        yield from many(node, fresh, pid)


@contextmanager
def first_in_line() -> Iterator[bool]:
    """Whether this process, and what it starts, goes before others of the machine."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


def throughput(node: Node, address: str, scratch: Path) -> Iterator[str]:
    """A file of short lines through `cat`, as a person would look at a log."""
    line = b"step 00001 loss 2.3026 accuracy 0.1002 tokens/s 182344 grad 0.93 lr 3.0e-4 gpu 7\n"
    text = line * (FILE_MB * 1_000_000 // len(line))
    (node.sshd.home / "log").write_bytes(text)
    (scratch / "log").write_bytes(text)
    with ExitStack() as stack:
        ways: dict[str, Callable[[], Way]] = {
            "worker": lambda: ByWorker(address, node.target()),
            "OpenSSH": lambda: ByClient(node.ssh()),
        }
        try:
            gateway = stack.enter_context(ttyd(scratch, [*node.ssh("/mnt"), "bash -l"]))
            beside = stack.enter_context(ttyd(scratch, ["/bin/bash", "-c", "cd /mnt; exec /bin/bash --norc"]))
            ways |= {"ttyd": lambda: ByTtyd(gateway), "ttyd on the node": lambda: ByTtyd(beside)}
        except Unavailable as reason:
            yield f"terminal    ttyd  not measured: {reason.message}"
        best = dict.fromkeys(ways, 0.0)
        for _ in range(TURNS):
            for name, opened in ways.items():
                best[name] = max(best[name], _rate(opened(), len(text)))
    for name, rate in best.items():
        yield f"terminal    {FILE_MB} MB by {name:17} {rate:7.1f} MB/s"
    yield _ratio("OpenSSH's client", best["worker"] / best["OpenSSH"], LEAST_OF_SSH)
    if "ttyd" in best:
        yield _ratio("ttyd before it", best["worker"] / best["ttyd"], LEAST_OF_TTYD)
        yield _ratio("ttyd on the node", best["worker"] / best["ttyd on the node"], None)


def latency(node: Node, address: str) -> Iterator[str]:
    """What the worker adds to a key's way there and back, key by key beside OpenSSH's client; of each, the quietest
    round's."""
    ways: list[Way] = [ByWorker(address, node.target()), ByClient(node.ssh())]
    taken: list[list[list[float]]] = [[], []]
    for way in ways:
        _say(way, "stty raw echo; echo REA''DY; cat >/dev/null", "READY")
        time.sleep(0.2)
    for _ in range(ROUNDS):
        for rounds in taken:
            rounds.append([])
        for _ in range(KEYS):
            for way, rounds in zip(ways, taken, strict=True):
                began = time.perf_counter()
                way.send(b"x")
                while b"x" not in way.receive():
                    pass
                rounds[-1].append(1000 * (time.perf_counter() - began))
            time.sleep(0.002)
    for way in ways:
        way.close()
    at = [[_at(times, share) for times in rounds] for rounds in taken for share in (50, 99)]
    for name, p50, p99 in (("worker", at[0], at[1]), ("OpenSSH", at[2], at[3])):
        yield f"terminal    a key by {name:8} p50 {min(p50):6.2f} ms   p99 {min(p99):6.2f} ms"
    added = [min(ours) - min(theirs) for ours, theirs in ((at[0], at[2]), (at[1], at[3]))]
    verdict = "" if added[1] < MOST_ADDED_MS else ABOVE
    yield f"terminal    added to a key    p50 {added[0]:6.2f} ms   p99 {added[1]:6.2f} ms{verdict}"


def many(node: Node, address: str, pid: int) -> Iterator[str]:
    """Two hundred idle terminals: what each costs the worker, and whether all of them still answer."""
    ways: list[ByWorker] = []
    before = 0
    for number in range(MANY + WARM):
        if number == WARM:
            before = _resident_kib(pid)
        ways.append(ByWorker(address, node.target(), user=1000 + number // A_PERSON))
    for way in ways:
        _say(way, "echo REA''DY", "READY")
    began = time.perf_counter()
    for way in ways:
        way.send(b"echo HE''RE\n")
    for way in ways:
        _read_to(way, "HERE")
    answered = time.perf_counter() - began
    after = _resident_kib(pid)
    each = (after - before) / MANY
    verdict = "" if each < MOST_KIB else ABOVE
    cost = f"{each:7.0f} KiB each in the worker, {after / 1024:.0f} MiB in all{verdict}"
    yield f"terminal    {len(ways)} at once       {cost}"
    yield f"terminal    {len(ways)} at once       all answered a command within {answered:.2f} s"
    began = time.perf_counter()
    os.kill(pid, signal.SIGTERM)
    told = sum(way.ending() == "stopped" for way in ways)
    while _is_alive(pid):
        time.sleep(0.01)
    took = time.perf_counter() - began
    verdict = "" if took < MOST_STOP_S and told == len(ways) else ABOVE
    yield f"terminal    {len(ways)} at once       {told} told of SIGTERM, the worker gone after {took:.2f} s{verdict}"


def _rate(way: Way, size: int) -> float:
    """MB/s from the command to the last line."""
    _say(way, "stty -echo; PS1=; echo REA''DY", "READY")
    began = time.perf_counter()
    way.send(b"cat log; echo DO''NE\n")
    got = _read_to(way, "DONE")
    took = time.perf_counter() - began
    way.close()
    assert got >= size, f"{got} bytes of {size} came"
    return size / took / 1e6


def _say(way: Way, command: str, answer: str) -> None:
    way.send(f"{command}\n".encode())
    _read_to(way, answer)


def _read_to(way: Way, word: str) -> int:
    """How many bytes came up to and with `word`."""
    got, tail, wanted = 0, b"", word.encode()
    while wanted not in tail:
        data = way.receive()
        assert data, f"the terminal ended before {word}: {tail!r}"
        got += len(data)
        tail = (tail + data)[-4096:] if len(data) < 4096 else data[-4096:]
    return got


def _ratio(name: str, ratio: float, least: float | None) -> str:
    verdict = ABOVE.replace("ABOVE", "BELOW") if least and ratio < least else ""
    target = f" (at least {least})" if least else ""
    return f"terminal    throughput of the worker to {name:17} {ratio:5.2f}{target}{verdict}"


def _is_alive(pid: int) -> bool:
    """Not ended yet, whether its parent has noticed or not (proc(5), the state)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _at(times: list[float], share: int) -> float:
    return statistics.quantiles(times, n=100)[share - 1]


def _resident_kib(pid: int) -> int:
    """VmRSS of proc(5)."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])
