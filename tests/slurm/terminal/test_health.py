"""Nothing stays behind: after many terminals were opened and killed every count is zero again, and the page says so."""

import asyncio
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from django.test import Client

from console.models import User
from slurm.terminal import wire
from slurm.terminal.limits import Limits
from slurm.terminal.wire import Kind
from tests.slurm.terminal.client import Page
from tests.slurm.terminal.conftest import Console
from tests.slurm.terminal.rig import Rig, rig, run
from tests.slurm.terminal.sshd import Sshd

Open = Callable[..., Page]
CYCLES, AT_ONCE = 200, 8


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def cycle(made: Rig, number: int) -> None:
    """Open a terminal and kill it, each time in another of four ways."""
    link, ready = await made.opened()
    assert ready["kind"] == Kind.READY, ready
    match number % 4:
        case 0:
            link.send(wire.message(Kind.END, code="closed", sentence="It was closed."))
        case 1:
            link.send(wire.frame(Kind.INPUT, b"exit\n"))
        case 2:
            link.send(wire.frame(Kind.INPUT, b"kill -9 $$\n"))
        case 3:
            link.close()  # the page is gone without a word: the idle limit ends the shell
            return
    while await link.read():
        pass
    link.close()


def test_two_hundred_terminals_opened_and_killed_leave_nothing(
    ca: object,
    sshd: Sshd,
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd, Limits(idle_s=3, absolute_s=600, warning_s=1)) as made:
            await cycle(made, 0)
            before = open_files()
            places = asyncio.Semaphore(AT_ONCE)

            async def bounded(number: int) -> None:
                async with places:
                    await cycle(made, number)

            await asyncio.gather(*(bounded(number) for number in range(CYCLES)))
            deadline = time.monotonic() + 60
            while any(made.worker.counts().values()) or open_files() > before + 2:
                assert time.monotonic() < deadline, (made.worker.counts(), open_files(), before)
                await asyncio.sleep(0.1)
            opened = sum(line[0] == "opened" for line in made.journal.lines)
            closed = sum(line[0] == "closed" for line in made.journal.lines)
            assert opened == closed == CYCLES + 1

    run(work(), within_s=280)


def counts(client: Client) -> dict[str, int]:
    page = client.get("/terminals/").content.decode()
    return {name: int(number) for name, number in re.findall(r'data-count="(\w+)">(\d+)<', page)}


def test_health_page_counts_what_is_open_and_returns_to_zero(console: Console, page: Open) -> None:
    ops = Client()
    ops.force_login(User.objects.create_user("ops", is_staff=True))
    pages = [page("mo") for _ in range(3)]
    for each in pages:
        each.open()
    wait_for(ops, lambda now: now["sessions"] >= 3 and now["sockets"] >= 3 and now["workers"] == 1)
    pages[0].say(kind="close")
    pages[1].read_until("ready> ")
    pages[1].type("kill -9 $$\n")
    pages[2].read_until("ready> ")
    pages[2].type("exit\n")
    for each in pages:
        each.wait_closed()
        each.socket.close()
    wait_for(ops, lambda now: now["sockets"] == 0 and now["links"] == 0)
    assert Client().get("/terminals/").status_code == 302
    member = Client()
    member.force_login(User.objects.get(username="ada"))
    assert member.get("/terminals/").status_code == 403


def wait_for(client: Client, fits: Callable[[dict[str, int]], bool]) -> None:
    deadline = time.monotonic() + 40
    while not fits(counts(client)):
        assert time.monotonic() < deadline, counts(client)
        time.sleep(0.3)
