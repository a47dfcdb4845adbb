"""Back-pressure on the whole path, in numbers: memory of the worker, the answer to Ctrl-C, a pasted megabyte."""

import time
from collections.abc import Callable
from pathlib import Path

from tests.slurm.terminal.client import Page
from tests.slurm.terminal.conftest import Console

Open = Callable[..., Page]
# It says that the terminal is raw by then: what is typed before would be cut into lines, and lost beyond 4 KiB.
COMMAND = "stty raw -echo; echo is''-raw; head -c 1000000 | tee /dev/tty | cksum; stty sane\n"


def resident_kib(pid: int) -> int:
    """VmRSS of proc(5)."""
    line = next(x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if x.startswith("VmRSS"))
    return int(line.split()[1])


def wait_until_still(read: Callable[[], int], rest_s: float = 1.0) -> int:
    """The value once it has not changed for `rest_s`. Fails after 20 s."""
    deadline, value, since = time.monotonic() + 20, read(), time.monotonic()
    while time.monotonic() - since < rest_s:
        assert time.monotonic() < deadline, "it never comes to rest"
        time.sleep(0.05)
        if read() != value:
            value, since = read(), time.monotonic()
    return value


def test_stalled_reader_of_yes_costs_little_and_ctrl_c_answers_at_once(page: Open, console: Console) -> None:
    warm = page("mo")
    warm.open()
    warm.read_until("ready> ")
    warm.run("yes | head -c 3000000", within_s=20)
    worker = console.processes["terminals"].pid
    stalled = page("ada", stalls=True)
    stalled.open()
    stalled.read_until("ready> ")
    before = resident_kib(worker)
    stalled.type("yes\n")
    stalled.read_until("y\r\ny\r\n")
    wait_until_still(lambda: blocked_writers(console))
    peak = max(resident_kib(worker) for _ in range(20) if time.sleep(0.05) is None)
    assert peak - before < 4096, f"{peak - before} KiB"
    stalled.type("\x03")
    began = time.monotonic()
    stalled.stalls = False
    stalled.say(kind="ack", bytes=stalled.received)
    stalled.read_until("ready> ")
    assert time.monotonic() - began < 1
    assert stalled.run("echo alive").strip() == "alive"


def blocked_writers(console: Console) -> int:
    """Clock ticks that the worker has used: it comes to rest when nobody reads."""
    fields = Path(f"/proc/{console.processes['terminals'].pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) // 5


def test_stalled_page_does_not_hold_up_another(page: Open) -> None:
    stalled = page("ada", stalls=True)
    stalled.open()
    stalled.read_until("ready> ")
    stalled.type("yes\n")
    other = page("mo")
    other.open()
    other.read_until("ready> ")
    began = time.monotonic()
    assert other.run("echo quick").strip() == "quick"
    assert time.monotonic() - began < 1
    stalled.type("\x03")


def test_pasted_megabyte_into_an_echo_neither_blocks_nor_is_lost(page: Open) -> None:
    """Typed bytes come back as output: with one credit for both ways this would stand still for ever."""
    mo = page("mo")
    mo.open()
    mo.read_until("ready> ")
    mo.type(COMMAND)
    mo.read_until("is-raw")
    sent, line = 0, b"0123456789abcdef" * 1024
    while sent < 1_000_000:
        if sent + len(line) - taken(mo) <= 200_000:
            mo.socket.send(line[: 1_000_000 - sent])
            sent += len(line[: 1_000_000 - sent])
        else:
            assert mo.step(time.monotonic() + 8), "no more credit came"
    mo.read_until(" 1000000", within_s=60)


def taken(page: Page) -> int:
    """Bytes typed that the worker has taken, less the command line itself."""
    return sum(int(str(said["bytes"])) for said in page.said if said["kind"] == "taken") - len(COMMAND)
