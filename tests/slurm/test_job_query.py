"""The filter box reads what people type, says what it cannot read, and never fails."""

import re

import pytest
from ClusterShell.NodeSet import NodeSet
from hypothesis import given
from hypothesis import strategies as st

from slurm.host_pattern import holds
from slurm.jobs.query import FIELDS, MAX_TERMS, MAX_TEXT, Bound, Match, parse

READ = [
    ("user:lin", Match("user", ("lin",))),
    ("user:lin,mo", Match("user", ("lin", "mo"))),
    ("u:lin", Match("user", ("lin",))),
    ("USER:lin", Match("user", ("lin",))),
    ("-user:lin", Match("user", ("lin",), negated=True)),
    ("gpus:>4", Bound("gpus", ">", 4)),
    ("gpus:>=4", Bound("gpus", ">=", 4)),
    ("gpus:4", Bound("gpus", "=", 4)),
    ("-gpus:0", Bound("gpus", "=", 0, negated=True)),
    ("node:slinky-2", Match("node", ("slinky-2",))),
    ("state:Running", Match("state", ("running",))),
    ("state:out_of_memory", Match("state", ("out_of_memory",))),
    ("limit:<2h", Bound("limit", "<", 7200)),
    ("ended:2h", Bound("ended", "<=", 7200)),
    ("ended:today", Match("ended", ("today",))),
    ("id:4141_[3,5-18%2]", Match("id", ("4141_[3,5-18%2]",))),
    ("id:1,2_3", Match("id", ("1", "2_3"))),
    ("train", Match("text", ("train",))),
    ('"a b"', Match("text", ("a b",))),
    ('name:"a, b"', Match("name", ("a, b",))),
    ('"left open', Match("text", ("left open",))),
    ("12:30", Match("text", ("12:30",))),
    ("-", Match("text", ("-",))),
    ("-debug", Match("text", ("debug",), negated=True)),
]


@pytest.mark.parametrize(("text", "term"), READ)
def test_a_term_is_read(text: str, term: Match | Bound) -> None:
    query = parse(text)
    assert query.terms == (term,)
    assert query.hints == ()


HINTS = [
    ("gpuz:4", "Did you mean gpus"),
    ("zz:red", "Known: user"),
    ("gpus:many", "takes a number: gpus:>4"),
    ("gpus:-1", "takes a number"),
    ("gpus:²", "takes a number"),
    ("state:runing", "Did you mean running"),
    ("state:?", "Known: waiting"),
    ("user:", "user:lin"),
    ("user:,", "user:lin"),
    ("id:abc", "no job id"),
    ("node:a/b", "no node name"),
    ("limit:soon", "30m, 2h or 1d"),
]


@pytest.mark.parametrize(("text", "words"), HINTS)
def test_what_cannot_be_read_becomes_a_hint_and_the_rest_still_filters(text: str, words: str) -> None:
    query = parse(f"user:lin {text}")
    assert query.terms == (Match("user", ("lin",)),)
    assert query.hints[0].token == text
    assert words in query.hints[0].message


def test_terms_beyond_the_most_are_left_out_with_a_hint() -> None:
    query = parse("a " * 40)
    assert len(query.terms) == MAX_TERMS
    assert query.hints


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("user:lin state:running gpus:>4", "state:waiting user:lin gpus:>4"),
        ("-state:held x", "state:waiting x"),
        ("is:held", "state:waiting"),
        ('"state:held" x', 'state:waiting "state:held" x'),
        ("", "state:waiting"),
    ],
)
def test_a_chip_rewrites_the_states_and_keeps_the_rest(text: str, kept: str) -> None:
    assert parse(text).rewritten("state", "ended", add="state:waiting") == kept


@pytest.mark.parametrize("sort", ["", "-", "--gpus", "GPUS", "password", "gpus; drop table"])
def test_an_unknown_sort_key_is_the_lists_own_order(sort: str) -> None:
    assert parse("", sort).sort == ""


def test_a_sort_key_may_turn_round() -> None:
    assert (parse("", "-gpus").sort, parse("", "-gpus").descending) == ("gpus", True)


@pytest.mark.parametrize("page", ["", "0", "-1", "x", "1e9", "²", "9" * 30])
def test_a_page_that_is_no_number_is_the_first(page: str) -> None:
    assert parse("", page=page).page == 1


@given(st.text(), st.text(), st.text())
def test_parsing_never_raises_and_is_bounded(text: str, sort: str, page: str) -> None:
    query = parse(text, sort, page)
    assert len(query.text) <= MAX_TEXT and "\x00" not in query.text
    assert len(query.terms) <= MAX_TERMS and query.page >= 1


@given(st.lists(st.tuples(st.sampled_from(FIELDS), st.text(max_size=20)), max_size=8))
def test_the_text_of_the_box_reads_back_the_same(parts: list[tuple[str, str]]) -> None:
    query = parse(" ".join(f"{field}:{value}" for field, value in parts))
    assert parse(query.text) == query


NUMBERS = st.sets(st.integers(0, 1200), min_size=1, max_size=12)


@given(
    NUMBERS,
    st.integers(0, 1300),
    st.sampled_from(["slinky-", "gpu", "a.b-", "r1n"]),
    st.sampled_from(["", "-ib"]),
)
def test_a_node_is_found_in_a_folded_list_exactly_when_it_is_in_it(
    numbers: set[int], asked: int, before: str, after: str
) -> None:
    names = NodeSet.fromlist([f"{before}{n}{after}" for n in numbers])
    folded = f"login-1,{names}" if len(numbers) % 2 else f"{names},login-1"
    assert bool(re.search(holds(f"{before}{asked}{after}"), folded)) == (asked in numbers)


@pytest.mark.parametrize(
    ("name", "hosts", "is_in"),
    [
        ("gpu-007", "gpu-[001-064]", True),
        ("gpu-070", "gpu-[001-064,070]", True),
        ("gpu-065", "gpu-[001-064,070]", False),
        ("slinky-1", "slinky-11", False),
        ("slinky-1", "xslinky-1", False),
        ("slinky-1", "", False),
        ("head", "head,slinky-0", True),
        ("head", "ahead", False),
        ("a.b", "aXb", False),
    ],
)
def test_names_are_matched_whole(name: str, hosts: str, is_in: bool) -> None:
    assert bool(re.search(holds(name), hosts)) == is_in
