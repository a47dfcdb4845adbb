"""Host lists: what they stand for, what is refused, and that folding and expanding are inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.hostlist import HostlistError, TooManyHosts, expand, fold, fold_ordinals, parse_ordinals

NAMES = st.lists(st.from_regex(r"[a-z][a-z-]{0,3}[0-9]{0,4}", fullmatch=True), max_size=40)


@pytest.mark.parametrize(
    "text, names",
    [
        ("", ()),
        ("slinky-0", ("slinky-0",)),
        ("slinky-[0-1,5,8-10]", ("slinky-0", "slinky-1", "slinky-5", "slinky-8", "slinky-9", "slinky-10")),
        ("gpu-[098-102]", ("gpu-098", "gpu-099", "gpu-100", "gpu-101", "gpu-102")),
        ("b,a-[1-2],b", ("b", "a-1", "a-2")),
        ("r[0-1]n[1-2]", ("r0n1", "r0n2", "r1n1", "r1n2")),
        ("n[1-2]-ib", ("n1-ib", "n2-ib")),
        ("n[3,1,3]", ("n3", "n1")),
        ("n[8,08]", ("n8", "n08")),
    ],
)
def test_expansion_names_every_host_once_in_order(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text, words",
    [
        ("slinky-[0-", "not closed"),
        ("slinky-[0-1", "not closed"),
        ("slinky-0]", "Unopened"),
        ("a[1-[2]]", "Nested"),
        ("slinky-[3-1]", "backwards"),
        ("slinky-[a-b]", "not a number"),
        ("slinky-[]", "not a number"),
        ("slinky-[0-3-5]", "not a number"),
        ("n[8-011]", "different widths"),
        ("n[001-64]", "different widths"),
        ("a,,b", "Empty place"),
        ("a,", "Empty place"),
        ("a b", "' ' at character 2"),
        ("a\nb", "'\\n' at character 2"),
        ("@all", "'@'"),
        ("a!b", "'!'"),
        ("-rf", "begin with '-'"),
        ("n[0-1٣]", "'٣'"),
        ("n[" + "9" * 19 + "]", "digits"),
    ],
)
def test_what_is_no_host_list_is_refused_with_a_reason(text: str, words: str) -> None:
    with pytest.raises(HostlistError, match=words.replace("(", r"\(").replace("\\n", r"\\n")):
        expand(text)


@pytest.mark.parametrize("text", ["a[0-99999999]", "a[0-999]b[0-999]", "a[0-40000],b[0-40000]"])
def test_expansion_is_bounded(text: str) -> None:
    with pytest.raises(TooManyHosts, match="65536"):
        expand(text)


def test_expansion_reaches_its_bound() -> None:
    assert len(expand("a[0-65535]")) == 65_536


@pytest.mark.parametrize(
    "names, text",
    [
        ([], ""),
        (["slinky-3"], "slinky-3"),
        (["slinky-1", "slinky-0", "slinky-0", "slinky-3"], "slinky-[0-1,3]"),
        (["gpu-099", "gpu-100", "gpu-098"], "gpu-[098-100]"),
        (["n8", "n08", "n9", "n10"], "n[8-9,08,10]"),
        (["login", "b-1", "a-1", "b-2"], "login,b-[1-2],a-1"),
        (["n", "n1", "n2"], "n,n[1-2]"),
    ],
)
def test_folding_is_short_sorted_and_keeps_padding(names: list[str], text: str) -> None:
    assert fold(names) == text
    assert set(expand(text)) == set(names)


@given(NAMES)
def test_folding_loses_no_host(names: list[str]) -> None:
    assert set(expand(fold(names))) == set(names)


@given(NAMES)
def test_folding_twice_changes_nothing(names: list[str]) -> None:
    once = fold(names)
    assert fold(expand(once)) == once


@given(st.text(alphabet="ab01[]-,", max_size=12))
def test_any_text_expands_or_is_refused_by_name(text: str) -> None:
    try:
        names = expand(text)
    except HostlistError:
        return
    assert set(expand(fold(names))) == set(names)


def test_ordinals_are_read_and_written() -> None:
    assert parse_ordinals("0-3, 5") == (0, 1, 2, 3, 5)
    assert parse_ordinals(" ") == ()
    assert fold_ordinals([5, 3, 0, 1, 2, 2]) == "0-3,5"
    with pytest.raises(HostlistError, match="backwards"):
        parse_ordinals("3-1")
    with pytest.raises(TooManyHosts):
        parse_ordinals("0-9999999")
    with pytest.raises(ValueError, match="negative"):
        fold_ordinals([-1])


@given(st.sets(st.integers(0, 5000)))
def test_ordinals_survive_folding(numbers: set[int]) -> None:
    assert set(parse_ordinals(fold_ordinals(numbers))) == numbers
