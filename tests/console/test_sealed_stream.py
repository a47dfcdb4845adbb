"""Files that are sealed piece by piece: whole again, bounded, and useless once somebody changed them."""

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.sealed_stream import MAGIC, PIECE, TAG, NotAuthentic, Sealer, make_key, opened

KEY = make_key()


def sealed(*parts: bytes) -> bytes:
    sealer = Sealer(KEY)
    return MAGIC + b"".join(sealer.seal(part) for part in parts)


def read(file: bytes, key: bytes = KEY) -> bytes:
    return b"".join(opened(io.BytesIO(file), key))


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_what_was_written_is_read(parts: list[bytes]) -> None:
    assert read(sealed(*parts)) == b"".join(parts)


def test_pieces_are_bounded_however_much_is_written_at_once() -> None:
    data = b"0123456789" * 250_000
    pieces = list(opened(io.BytesIO(sealed(data)), KEY))
    assert b"".join(pieces) == data
    assert [len(piece) for piece in pieces] == [PIECE, PIECE, len(data) - 2 * PIECE]


def test_same_text_is_never_the_same_twice() -> None:
    assert len(set(sealed(b"same", b"same").split(b"\0\0\0\x14")[1:])) == 2


@given(st.integers(0, len(sealed(b"first", b"second")) - 1), st.integers(1, 255))
def test_changed_byte_is_found(at: int, by: int) -> None:
    file = bytearray(sealed(b"first", b"second"))
    file[at] ^= by
    whole = None
    try:
        whole = read(bytes(file))
    except NotAuthentic:
        return
    # A length that grew looks like a file whose end is missing: nothing false is read.
    assert b"firstsecond".startswith(whole) and whole != b"firstsecond"


def test_pieces_that_were_moved_or_dropped_do_not_open() -> None:
    begin, sealer = len(MAGIC), Sealer(KEY)
    first, second = sealer.seal(b"first"), sealer.seal(b"other")
    for file in (second + first, second, first + first):
        with pytest.raises(NotAuthentic):
            read(MAGIC + file)
    assert begin + len(first) == len(sealed(b"first"))


def test_another_key_and_a_plain_file_open_nothing() -> None:
    for file, key in ((sealed(b"x"), make_key()), (b'{"version":3}\n', KEY), (b"", KEY)):
        with pytest.raises(NotAuthentic):
            read(file, key)


def test_file_of_a_killed_writer_ends_before_its_unfinished_piece() -> None:
    file = sealed(b"first", b"second")
    ends = [len(sealed()), len(sealed(b"first")), len(file)]
    for (start, end), text in zip(pairwise(ends), (b"", b"first"), strict=True):
        for cut in range(start, end):
            assert read(file[:cut]) == text
    assert len(file) == len(MAGIC) + 2 * (4 + TAG) + len(b"firstsecond")
