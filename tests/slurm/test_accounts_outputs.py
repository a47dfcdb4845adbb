"""What sacctmgr, sshare and sprio print, recorded from 22.05 to 26.05, where `allset` has each limit there is."""

from pathlib import Path

import pytest

from slurm.accounts.book import Book
from slurm.accounts.limits import ASSOCIATION_LIMITS, QOS_LIMITS, Kind, tres_of
from slurm.accounts.reading import Asking
from slurm.outputs.accounts import ASSOCIATION_COLUMNS as ASSOCIATIONS
from slurm.outputs.accounts import (
    Association,
    decode_accounts,
    decode_associations,
    decode_qos,
    decode_users,
)
from slurm.outputs.columns import Columns, CutOff, wider
from slurm.outputs.shares import SHARE_COLUMNS, decode_priorities, decode_shares, priority_format
from slurm.outputs.text import Marks, Unreadable
from slurm.outputs.values import parse_duration_s
from tests.yardstick import in_yardsticks

VERSIONS = ("22.05", "24.11", "26.05")
DATA = Path(__file__).parents[1] / "data/slurm"
MARKS = Marks("<aaaaaaaa>", "<bbbbbbbb>")
# The columns of associations.txt and qos.txt, which are what `sacctmgr -P` said at the same moment.
ASSOCIATION_COLUMNS = (
    "account", "user", "partition", "shares", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "GrpSubmitJobs",
    "GrpWall", "MaxTRESPerJob", "MaxTRESPerNode", "MaxTRESMinsPerJob", "MaxJobs", "MaxSubmitJobs", "MaxWall", "qos",
    "default_qos",
)  # fmt: skip
QOS_COLUMNS = (
    "name", "priority", "grace", "preempt", "preempt_mode", "flags", "threshold", "factor", "GrpTRES", "GrpTRESMins",
    "GrpTRESRunMins", "GrpJobs", "GrpSubmitJobs", "GrpWall", "MaxTRESPerJob", "MaxTRESPerNode", "MaxTRESMinsPerJob",
    "MaxWall", "MaxTRESPerUser", "MaxJobsPerUser", "MaxSubmitJobsPerUser", "MaxTRESPerAccount",
    "MaxTRESRunMinsPerAccount", "MaxTRESRunMinsPerUser", "MaxJobsPerAccount", "MaxSubmitJobsPerAccount",
    "MinTRESPerJob",
)  # fmt: skip


def recorded(version: str, name: str) -> bytes:
    return (DATA / version / "accounting" / name).read_bytes()


def rows(version: str, name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    lines = recorded(version, name).decode().splitlines()
    return [dict(zip(columns, line.split("|"), strict=True)) for line in lines]


def answers(version: str) -> list[bytes]:
    names = ("accounts", "users", "own_associations", "associations", "qos")
    return [recorded(version, f"{name}.bin") for name in names]


def the_book(version: str) -> Book:
    return Asking(version.replace(".", "")).book(answers(version))


def as_said(limit, text):
    """A column of `sacctmgr -P` as a limit is kept: minutes for a duration, MiB for memory."""
    if limit.kind is Kind.DURATION:
        return str(parse_duration_s(text) // 60) if text else ""
    if limit.kind is Kind.COUNT:
        return text
    return {
        name: count.replace("3G", "3072")
        for name, _, count in (p.partition("=") for p in text.split(","))
        if name
    }


def as_read(limit, value):
    if limit.kind in (Kind.COUNT, Kind.DURATION):
        return value
    return {name: str(count) for name, count in tres_of(value).items()}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_limit_of_an_association_is_what_sacctmgr_says_in_its_column(version):
    said = rows(version, "associations.txt", ASSOCIATION_COLUMNS)
    read = the_book(version).in_force
    assert len(said) == len(read) == 10
    for row, one in zip(said, read, strict=True):
        assert (one.account, one.user, one.partition) == (row["account"], row["user"], row["partition"])
        assert ("parent" if one.shares is None else str(one.shares)) == row["shares"]
        assert (",".join(one.qos), one.default_qos) == (row["qos"], row["default_qos"])
        for limit in ASSOCIATION_LIMITS:
            assert as_read(limit, one.limits.get(limit.option, "")) == as_said(limit, row[limit.option]), (
                limit.option
            )
    allset = next(one for one in read if one.account == "allset")
    assert set(allset.limits) == {limit.option for limit in ASSOCIATION_LIMITS}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_limit_of_a_qos_is_what_sacctmgr_says_in_its_column(version):
    said = rows(version, "qos.txt", QOS_COLUMNS)
    read = decode_qos(recorded(version, "qos.bin"))
    assert [one.name for one in read] == [row["name"] for row in said] == ["normal", "allset", "short"]
    for row, one in zip(said, read, strict=True):
        assert (str(one.priority), one.preempt_mode or "cluster") == (row["priority"], row["preempt_mode"])
        assert set(one.flags) == set(filter(None, row["flags"].split(",")))
        assert one.usage_factor == float(row["factor"]) and one.grace_s == parse_duration_s(row["grace"])
        assert (one.usage_threshold is None) == (row["threshold"] == "")
        for limit in QOS_LIMITS:
            assert as_read(limit, one.limits.get(limit.option, "")) == as_said(limit, row[limit.option]), (
                limit.option
            )
    assert set(read[1].limits) == {limit.option for limit in QOS_LIMITS}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_description_with_bars_and_lines_forges_no_account(version):
    accounts = decode_accounts(recorded(version, "accounts.bin"))
    assert sorted(one.name for one in accounts) == ["allset", "llm", "root", "vision"]
    vision = next(one for one in accounts if one.name == "vision")
    assert vision.description == "a|b\nroot|evil|x\t`quoted`" and vision.organization == "org|one"


@pytest.mark.parametrize("version", VERSIONS)
def test_people_with_their_default_account_level_and_what_they_coordinate(version):
    users = {one.name: one for one in decode_users(recorded(version, "users.bin"))}
    assert users["ann"].default_account == "llm" and users["ann"].coordinates == ("llm",)
    assert the_book(version).coordinators_of("vision") == ("nobody",)
    assert the_book(version).coordinators_of("llm") == ("ann",) and the_book(version).about(
        "llm"
    ).coordinators == ("ann", "nobody")
    assert users["root"].level == "Administrator" and users["games"].level == "None"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_list_of_qos_that_was_set_as_a_difference_is_what_it_comes_to(version):
    """`qos+=short`, of which sacctmgr prints `short` alone."""
    nobody = the_book(version).membership("nobody", "llm")
    assert set(nobody.qos) == {"normal", "short"} and nobody.default_qos == "short"
    assert the_book(version).membership("ann", "llm").qos == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_shares_say_what_the_text_says(version):
    read = decode_shares(recorded(version, "shares.bin"))
    said = [line.split("|") for line in recorded(version, "shares.txt").decode().splitlines()]
    assert [(one.account, one.user) for one in read] == [(row[0].strip(), row[1]) for row in said]
    for one, row in zip(read, said, strict=True):
        usage, raw, effective, factor, shares, norm = row[3:9]
        assert (
            abs(one.usage_s - int(usage or 0)) <= 1
            and abs(one.effective_usage - float(effective or 0)) < 0.001
        )
        assert (
            one.fair_share == (float(factor) if one.user else None)
            or abs(one.fair_share - float(factor)) < 1e-6
        )
        assert ("parent" if one.shares is None and one.user else str(one.shares or "")) == shares
        gpu = int(dict(part.split("=") for part in raw.split(","))["gres/gpu"])
        assert one.used_minutes.get("gres/gpu", 0) == gpu


def test_used_minutes_are_by_resource_and_what_was_never_used_is_left_out():
    raw = row(
        SHARE_COLUMNS, Account="  llm", User="ann", GrpTRESRaw="cpu=40,mem=0,gres/gpu=1203", FairShare="0.25"
    )
    (read,) = decode_shares(raw)
    assert (read.account, read.user, read.fair_share) == ("llm", "ann", 0.25)
    assert read.used_minutes == {"cpu": 40, "gres/gpu": 1203}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_priority_is_the_sum_of_its_parts(version):
    read = decode_priorities(recorded(version, "priorities.bin"), MARKS)
    assert len(read) == 3
    for one in read:
        assert abs(sum(one.parts.values()) + sum(one.tres.values()) - one.nice - one.total) <= 1 + len(
            one.tres
        )
    # That of 22.05 was recorded without a GPU.
    assert version == "22.05" or all(one.tres["gres/gpu"] for one in read)


@pytest.mark.parametrize("damage", [lambda raw: b"", lambda raw: raw[:-200], lambda raw: raw[1:] + b"x"])
def test_an_answer_that_is_cut_off_is_no_empty_answer(damage):
    for at in range(5):
        damaged = answers("24.11")
        damaged[at] = damage(damaged[at])
        with pytest.raises(Unreadable):
            Asking("2411").book(damaged)
    with pytest.raises(Unreadable):
        decode_shares(damage(recorded("24.11", "shares.bin")))
    with pytest.raises(Unreadable):
        decode_priorities(recorded("24.11", "priorities.bin")[:-30], MARKS)


def row(columns: Columns, **values: str) -> bytes:
    """A record as sacctmgr prints it."""
    cells = (values.get(one.name, "").encode()[: one.width].ljust(one.width) for one in columns)
    return b" ".join([*cells, b"\n"])


@pytest.mark.parametrize("name", ["a|b\nroot     root", "é" * 40, "x" * 300, "\x1b[2J\0"])
def test_no_name_makes_a_record_of_its_own(name):
    raw = row(ASSOCIATIONS, Account=name, ParentName="root", Share="1") + row(ASSOCIATIONS, Account="llm")
    first, second = decode_associations(raw, {})
    assert first.parent == "root" and second == Association("llm", shares=0)


def test_a_list_that_is_too_long_for_its_column_is_asked_for_again_and_never_taken_as_it_is():
    many = ",".join(f"gres/gpu:model{n:02}={n + 1}" for n in range(20))
    cut = row(ASSOCIATIONS, Account="llm", GrpTRES=many[:95] + "+")
    with pytest.raises(CutOff):
        decode_associations(cut, {})
    (read,) = decode_associations(
        row(wider(ASSOCIATIONS), Account="llm", GrpTRES=many), {}, wider(ASSOCIATIONS)
    )
    assert len(tres_of(read.limits["GrpTRES"])) == 20


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("cpu=1024,gres/gpu=4,mem=3100M", "gres/gpu=4,cpu=1024,mem=3100"),
        ("mem=2G", "mem=2048"),
        ("billing=2K,mem=1T", "billing=2048,mem=1048576"),
        ("mem=7", "mem=7"),
    ],
)
def test_amounts_are_read_to_the_last_one(said, kept):
    (read,) = decode_associations(row(ASSOCIATIONS, Account="llm", GrpTRESMins=said), {})
    assert read.limits == {"GrpTRESMins": kept}
    with pytest.raises(Unreadable):
        decode_associations(row(ASSOCIATIONS, Account="llm", GrpTRES="mem=some"), {})


def test_sprio_is_asked_for_what_is_decoded():
    letters = [
        part[1]
        for part in priority_format(MARKS).replace("<bbbbbbbb>", "<aaaaaaaa>").split("<aaaaaaaa>")
        if part
    ]
    assert letters == list("iurSABFJPQNTY")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_tree_has_parents_before_children_with_what_is_set_and_what_holds(version):
    book = the_book(version)
    tree = book.tree()
    assert [(branch.depth, branch.own.account) for branch in tree] == [
        (0, "root"),
        (1, "allset"),
        (1, "vision"),
        (2, "llm"),
    ]
    llm = tree[-1]
    assert [one.user for one in llm.people] == ["ann", "games", "nobody"]
    assert "MaxJobs" not in llm.own.limits and llm.in_force.limits["MaxJobs"] == "50"
    assert book.above("llm") == ("llm", "vision", "root") and book.below("vision") == {"vision", "llm"}


def test_a_circle_and_a_lost_account_are_shown_and_end():
    names = (("root", ""), ("a", "b"), ("b", "a"), ("lost", "gone"), ("x y", "root"))
    own = tuple(Association(account=name, parent=parent) for name, parent in names)
    book = Book("tiny", (), (), own, own, ())
    tree = book.tree()
    assert [branch.own.account for branch in tree] == ["root", "x y", "a", "b", "lost"]
    assert [branch.is_odd for branch in tree] == [False, True, False, False, False]
    assert book.above("a") == ("a", "b") and book.below("a") == {"a", "b"}


def test_thousands_of_people_are_read_in_a_moment():
    raw = b"".join(row(ASSOCIATIONS, Account="llm", User=f"u{n}", GrpTRES="gres/gpu=4") for n in range(5000))
    assert len(decode_associations(raw, {})) == 5000
    assert in_yardsticks(lambda: decode_associations(raw, {})) < 20
