"""Dumps of sacctmgr taken apart: those that it wrote itself, and those that must not be read in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm.accounts.book import Book
from slurm.accounts.dump import check_dump, differences, parse_dump
from tests.slurm.test_accounts_outputs import recorded, the_book

V24, V26 = (24, 11), (26, 5)


def dumped(version: str) -> str:
    """As sacctmgr wrote it, without the description that has a line end, of which nothing reads back."""
    return recorded(version, "dump.cfg").decode().replace("a|b\nroot|evil|x\t`quoted`", "plain")


@pytest.mark.parametrize(("name", "version"), [("24.11", V24), ("26.05", V26)])
def test_what_sacctmgr_wrote_is_read_and_would_change_nothing(name, version):
    dump, book = parse_dump(dumped(name)), the_book(name)
    assert dump.problems == () and dump.cluster == book.cluster
    assert check_dump(dump, book, version) == () and differences(dump, book) == ()
    users = {(line.name, line.parent, line.partition) for line in dump.lines if line.kind == "User"}
    assert ("games", "llm", "all") in users and ("ann", "vision", "") in users
    assert ("QOS" in {line.kind for line in dump.lines}) == (version == V26)


def test_sacctmgr_itself_writes_what_it_cannot_read():
    problems = parse_dump(recorded("24.11", "dump.cfg").decode()).problems
    assert [problem.line is not None for problem in problems] == [True, True]
    assert all("no line of a dump" in problem.message for problem in problems)


def test_what_a_file_would_do_is_said():
    text = (
        dumped("24.11").replace("Fairshare=20", "Fairshare=5").replace("Parent - 'vision'", "Parent - 'root'")
    )
    text += "User - 'kim':Fairshare=2\nAccount - 'fresh':Fairshare=1\n"
    told = [(one.sign, one.what) for one in differences(parse_dump(text), the_book("24.11"))]
    assert ("~", "account llm moves from vision to root") in told
    assert ("~", "account llm: shares 20 → 5") in told
    assert ("+", "user kim in llm") in told and ("+", "account fresh below llm") in told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "this file names 0"),
        ("Cluster - '2411'\nCluster - 'other'\n", "this file names 2"),
        ("Cluster - 'other':Fairshare=1\n", "The file is of the cluster other"),
        ("Cluster - '2411'\nQOS - 'x':Priority=1\n", "reads no QOS from a file"),
        ("Cluster - '2411'\nParent - 'nowhere'\nUser - 'kim'\n", "no account nowhere to put others below"),
        ("Cluster - '2411'\nUser - 'kim':Fairshare=1:evil\n", "no line of a dump"),
        ("Cluster - '2411'\nUser - 'kim\n", "no line of a dump"),
        ("Cluster - '2411'\nUser - 'kim':Description='a\x1b[2J'\n", "no line of a dump"),
    ],
)
def test_what_must_not_be_read_in_is_refused_at_its_line(text, says):
    found = check_dump(parse_dump(text), the_book("24.11"), V24)
    assert any(says in problem.message for problem in found)
    assert all(problem.path == "file" for problem in found)


@given(st.text(alphabet="QOSClusterAcount -':=\n\x00é1", max_size=200))
def test_any_text_is_read_or_refused(text):
    dump = parse_dump(text)
    assert dump.problems or dump.cluster or "Cluster - ''" in text
    check_dump(dump, Book("x", (), (), (), (), ()), V26)
