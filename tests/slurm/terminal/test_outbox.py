"""What leaves together, and in which order."""

import asyncio

from slurm.terminal.outbox import MOST, Outbox


class Transport:
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.writes.append(data)


def test_first_leaves_at_once_and_the_rest_of_the_turn_together() -> None:
    async def act() -> list[bytes]:
        transport = Transport()
        box = Outbox(transport)  # type: ignore[arg-type]
        for data in (b"a", b"b", b"c"):
            box.send(data)
        assert transport.writes == [b"a"]
        await asyncio.sleep(0)
        box.send(b"d")
        return transport.writes

    assert asyncio.run(act()) == [b"a", b"bc", b"d"]


def test_much_does_not_wait_for_the_end_of_the_turn() -> None:
    async def act() -> list[int]:
        transport = Transport()
        box = Outbox(transport)  # type: ignore[arg-type]
        for _ in range(5):
            box.send(b"x" * (MOST // 2))
        return [len(data) for data in transport.writes]

    assert asyncio.run(act()) == [MOST // 2, MOST, MOST]


def test_what_was_said_last_is_sent_before_a_close() -> None:
    async def act() -> bytes:
        transport = Transport()
        box = Outbox(transport)  # type: ignore[arg-type]
        box.send(b"one")
        box.send(b"two")
        box.flush()
        return b"".join(transport.writes)

    assert asyncio.run(act()) == b"onetwo"
