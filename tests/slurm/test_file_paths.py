"""Paths and names of the login node: what is read, refused and shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Rejected
from slurm.files.entries import Entry, Folder
from slurm.files.paths import joined, legible, name_of, parent, parse_path, part_path, quoted, shown

names = st.binary(min_size=1, max_size=40).filter(
    lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
)


@given(st.lists(names, max_size=5))
def test_any_path_survives_an_address(parts: list[bytes]) -> None:
    path = b"/" + b"/".join(parts)
    assert parse_path(quoted(path)) == path


@pytest.mark.parametrize(("text", "path"), [("/", b"/"), ("//a///b/", b"/a/b"), ("/%ff%20x", b"/\xff x")])
def test_path_is_tidied(text: str, path: bytes) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize(
    "text", ["", "a", "/a/../b", "/.", "/a%00", "/" + "x" * 256, "/" + "/".join(["y" * 200] * 21), "/%2e%2e"]
)
def test_path_that_cannot_be_meant_is_refused_at_its_field(text: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_path(text, "to")
    assert [problem.path for problem in caught.value.problems] == ["to"]


def test_parent_and_name() -> None:
    assert [parent(b"/a/b"), parent(b"/a"), parent(b"/")] == [b"/a", b"/", b"/"]
    assert [name_of(b"/a/b"), name_of(b"/")] == [b"b", b"/"]
    assert [joined(b"/", b"a"), joined(b"/a", b"b")] == [b"/a", b"/a/b"]
    assert part_path(b"/a/b", "00") == b"/a/.quarterdeck-00.part"


DECEIVERS = {*map(chr, range(32)), *map(chr, range(127, 160)), *"\u061c\u200b\u200e\u200f\u2028\u2029\ufeff"}
DECEIVERS |= {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


@given(st.text(alphabet=st.sampled_from([*sorted(DECEIVERS), "a", "é"]), max_size=20), st.binary(max_size=20))
def test_name_that_is_shown_acts_on_nothing_around_it(text: str, rest: bytes) -> None:
    assert not DECEIVERS & set(shown(text.encode() + rest))


def test_marks_stand_for_what_would_deceive() -> None:
    assert shown(b"a\x1b[31m\xff\xe2\x80\xaegpj.exe") == "a�[31m��gpj.exe"
    assert shown("漢字 🛠 naïve".encode()) == "漢字 🛠 naïve"
    assert legible("a\tb\r\nc\x1b[2J") == "a\tb\nc�[2J"


@given(st.lists(names, max_size=8, unique=True), st.booleans())
def test_folder_survives_the_wire(found: list[bytes], is_cut: bool) -> None:
    entries = tuple(Entry(joined(b"/h\xff", name), "link", 5, 0o644, 7, "file") for name in found)
    folder = Folder(b"/h\xff", entries, is_cut)
    assert Folder.from_wire(folder.to_wire()) == folder
