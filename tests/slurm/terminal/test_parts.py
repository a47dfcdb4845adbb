"""The pure parts of a terminal: frames, the ring, the limits, and a session with a scripted shell."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurm.terminal import wire
from slurm.terminal.limits import Limits, due, spoken
from slurm.terminal.link import joined
from slurm.terminal.ring import Ring
from slurm.terminal.wire import Decoder, Garbled, Kind

frames = st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=300)), max_size=12)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(frames, st.integers(1, 40))
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    sent: list[tuple[Kind, bytes]], size: int
) -> None:
    stream = b"".join(wire.frame(kind, payload) for kind, payload in sent)
    decoder = Decoder()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert list(itertools.chain.from_iterable(decoder.feed(piece) for piece in pieces)) == sent


@pytest.mark.parametrize("head", [b"\x63\0\0\0\1x", b"\x11\xff\0\0\0", b"\x00\0\0\0\0"])
def test_frame_that_makes_no_sense_is_refused(head: bytes) -> None:
    with pytest.raises(Garbled):
        Decoder().feed(head)


@pytest.mark.parametrize("payload", [b"", b"[1]", b"\xff", b"{"])
def test_control_frame_must_be_an_object(payload: bytes) -> None:
    with pytest.raises(Garbled):
        wire.fields(payload)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(frames)
def test_joining_keeps_bytes_and_order(sent: list[tuple[Kind, bytes]]) -> None:
    found = joined(sent)
    assert b"".join(p for k, p in found) == b"".join(p for k, p in sent)
    assert not any(a[0] == b[0] == Kind.OUTPUT for a, b in itertools.pairwise(found))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=20_000), max_size=30))
def test_ring_keeps_the_newest_bytes_within_its_limit(pieces: list[bytes]) -> None:
    ring = Ring(limit=32 * 1024)
    for piece in pieces:
        ring.add(piece)
    everything = b"".join(pieces)
    assert ring.total == len(everything)
    assert ring.size <= ring.limit
    start = ring.total - ring.size
    assert start == 0 or ring.size > ring.limit - 3 * 8 * 1024
    for position in (start, ring.total, (start + ring.total) // 2):
        assert ring.since(position) == everything[position:]
    assert ring.since(ring.total + 1) is None
    assert start == 0 or ring.since(start - 1) is None


def test_replay_of_everything_is_untouched() -> None:
    ring = Ring()
    ring.add(b"no newline \x1b[?2004h yet")
    assert ring.replay() == b"no newline \x1b[?2004h yet"


def test_replay_sets_the_modes_that_fell_off_and_begins_with_a_whole_line() -> None:
    ring = Ring(limit=16 * 1024)
    ring.add(b"\x1b[?1049h\x1b[?1000;1006h\x1b[?25l\x1b[?25h\x1b[?10")
    ring.add(b"02h" + b"x" * 9000 + b"\n")
    ring.add((b"y" * 99 + b"\n") * 170)
    replay = ring.replay()
    modes = {b"\x1b[?1049h", b"\x1b[?1000h", b"\x1b[?1006h", b"\x1b[?25h", b"\x1b[?1002h"}
    assert {replay[at : replay.index(b"h", at) + 1] for at in _starts(replay)} == modes
    after = replay.rpartition(b"\x1b[?")[2].partition(b"h")[2]
    assert after.startswith(b"y" * 99 + b"\n")


def _starts(replay: bytes) -> list[int]:
    return [at for at in range(len(replay)) if replay.startswith(b"\x1b[?", at)]


def test_echoed_keys_do_not_cost_an_object_each() -> None:
    ring = Ring()
    for _ in range(100_000):
        ring.add(b"k")
    assert len(ring._pieces) < 20


LIMITS = Limits(idle_s=1800, absolute_s=43_200, warning_s=300)


@pytest.mark.parametrize(
    ("now", "typed", "code", "left_s"),
    [
        (1000, 0, None, None),
        (1499, 0, None, None),
        (1500, 0, "idle", 300),
        (1800, 0, "idle", 0),
        (5000, 4000, None, None),
        (42_900, 42_800, "absolute", 300),
        (43_200, 43_199, "absolute", 0),
    ],
)
def test_limits_warn_and_then_end(now: float, typed: float, code: str | None, left_s: int | None) -> None:
    found = due(LIMITS, now=now, opened=0, typed=typed)
    assert (found.code, found.left_s) == (code, left_s) if found else code is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (43_200, "12 hours"),
        (3600, "1 hour"),
        (300, "5 minutes"),
        (60, "1 minute"),
        (40, "40 seconds"),
        (1, "1 second"),
    ],
)
def test_times_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert spoken(seconds) == words
