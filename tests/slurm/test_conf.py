"""slurm.conf as a document: byte for byte the same when untouched, and changed only where asked."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm.conf import (
    ConfError,
    LineKind,
    SlurmConf,
    entity_line,
    format_pair,
    format_value,
    parse,
    render,
)

FILES = sorted((Path(__file__).parents[1] / "data" / "slurm").glob("*/*.conf"))

MANY = r"""# site
ClusterName=demo   # the name
slurmctldtimeout = 30

Prolog="/etc/slurm/my prolog"
SchedulerParameters=bf_interval=5,\
sched_interval=5
SlurmctldTimeout=99
NodeName=slinky-[0-3] CPUs=8 \
  RealMemory=64000 # big
PartitionName=all Nodes=ALL Default=YES
Include /etc/more.conf
junk here"""

CONFISH = st.text(alphabet='Aab1=\\#" \t\r\n,[]-', max_size=60)
VALUES = st.text(alphabet="aB1 \\#=,'[]-é", max_size=12)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recorded_files_come_back_byte_for_byte(path: Path) -> None:
    text = path.read_bytes().decode()
    assert render(parse(text)) == text


def test_recorded_files_were_found() -> None:
    assert len([path for path in FILES if path.name == "slurm.conf"]) == 3


@given(st.one_of(st.text(), CONFISH))
def test_any_text_comes_back_byte_for_byte(text: str) -> None:
    assert render(parse(text)) == text


@given(CONFISH)
def test_line_numbers_are_those_of_an_editor(text: str) -> None:
    number = 1
    for line in parse(text).lines:
        assert line.number == number
        number += line.text.count("\n")


@given(CONFISH)
def test_field_offsets_point_into_the_text(text: str) -> None:
    for line in parse(text).lines:
        for field in line.fields:
            assert 0 <= field.key_at < field.value_at < field.end <= len(line.text)


@pytest.mark.parametrize(
    "text, pairs",
    [
        ("Aa=1", [("Aa", "1")]),
        ("  Aa = 1", [("Aa", "1")]),
        ("Aa=x # hi", [("Aa", "x")]),
        ('Aa="a b"', [("Aa", "a b")]),
        ('Aa="a \\# b"', [("Aa", "a # b")]),
        ("Aa=x\\#y", [("Aa", "x#y")]),
        ("Aa=x\\y", [("Aa", "xy")]),
        ("Aa=x\\\\y", [("Aa", "x\\y")]),
        ("Aa=1\\\\\nBb=2", [("Aa", "1\\"), ("Bb", "2")]),
        ("# c \\\nAa=1", [("Aa", "1")]),
        ('Aa="x"y', [("Aa", '"x"y')]),
        ('Aa=""', [("Aa", "")]),
        ("Aa=1\r\nBb=2\r\n", [("Aa", "1"), ("Bb", "2")]),
        ("Aa=1\\", [("Aa", "1")]),
        ("Aa=\u00a01", [("Aa", "\u00a01")]),
        ("Aa=a\\\n#c\nBb=2", [("Aa", "a"), ("Bb", "2")]),
        ("Aa=a=b", [("Aa", "a=b")]),
        ("Aa=1;Bb=2", [("Aa", "1;Bb=2")]),
        ("Aa=1,\\\n2", [("Aa", "1,2")]),
        ('Aa="x', [("Aa", '"x')]),
        ("Aa+=1", [("Aa", "1")]),
    ],
)
def test_pairs_are_read_as_slurms_own_parser_reads_them(text: str, pairs: list[tuple[str, str]]) -> None:
    document = parse(text)
    assert [(field.key, field.value) for _, field in document.settings()] == pairs
    assert not any(line.leftover for line in document.lines)


@pytest.mark.parametrize(
    "text, leftover",
    [
        ("Aa=1 Bb=2", "Bb=2"),
        ("Aa=ab\\\n cd", "cd"),
        ("Aa=1 \\ # c\nBb=2", "Bb=2"),
        ("Aa=1 \\  \nBb=2", "Bb=2"),
        ('Aa=x"y z"', 'z"'),
        ('Aa="a # b"', ""),
        ("Aa=", "Aa="),
        ("junk", "junk"),
        ("junk Aa=1", "junk Aa=1"),
        ("A-a=1", "A-a=1"),
        ("Aa=1\rBb=2", "Bb=2"),
        ("PartitionName=a Nodes=b junk MaxTime=1", "junk MaxTime=1"),
    ],
)
def test_what_slurm_cannot_read_is_left_over(text: str, leftover: str) -> None:
    assert parse(text).lines[0].leftover == leftover


def test_lines_know_what_they_are_and_where() -> None:
    kinds = [(line.number, line.kind) for line in parse(MANY).lines]
    comment, blank, setting, entity = LineKind.COMMENT, LineKind.BLANK, LineKind.SETTING, LineKind.ENTITY
    assert kinds == [
        (1, comment), (2, setting), (3, setting), (4, blank), (5, setting), (6, setting), (8, setting),
        (9, entity), (11, entity), (12, LineKind.INCLUDE), (13, LineKind.GARBAGE),
    ]  # fmt: skip


def test_reading_ignores_case_and_the_last_line_wins() -> None:
    document = parse(MANY)
    assert document.get("SLURMCTLDTIMEOUT") == "99"
    assert document.get("schedulerparameters") == "bf_interval=5,sched_interval=5"
    assert document.get("prolog") == "/etc/slurm/my prolog"
    assert document.get("CPUs") is None
    node = next(document.entities("nodename"))
    assert (node.get("nodename"), node.get("realmemory"), node.get("State")) == (
        "slinky-[0-3]",
        "64000",
        None,
    )


def test_setting_changes_one_value_and_nothing_else() -> None:
    assert render(parse(MANY).set("clustername", "demo two")) == MANY.replace("=demo   #", '="demo two"   #')
    changed = render(parse(MANY).set("SchedulerParameters", "defer"))
    assert changed == MANY.replace("bf_interval=5,\\\nsched_interval=5", "defer")


def test_a_new_setting_goes_behind_the_last_one() -> None:
    assert render(parse(MANY).set("KillWait", "5")) == MANY.replace("=99\n", "=99\nKillWait=5\n")
    assert render(parse("").set("KillWait", "5")) == "KillWait=5\n"
    assert render(parse("Aa=1\r\n# end").set("Bb", "2")) == "Aa=1\r\nBb=2\r\n# end"
    assert render(parse("Aa=1").set("Bb", "2")) == "Aa=1\nBb=2\n"
    assert render(parse("NodeName=a\n").set("Bb", "2")) == "Bb=2\nNodeName=a\n"


def test_a_line_after_a_dangling_continuation_is_not_swallowed() -> None:
    assert parse("Aa=1\\").set("Bb", "2").get("Bb") == "2"
    assert parse("Aa=1\\\n").append("Bb=2").get("Bb") == "2"


def test_unsetting_removes_every_line_of_the_key() -> None:
    document = parse(MANY).unset("SLURMCTLDTIMEOUT")
    assert render(document) == MANY.replace("slurmctldtimeout = 30\n", "").replace(
        "SlurmctldTimeout=99\n", ""
    )
    assert document.unset("SlurmctldTimeout") is document


def test_entity_fields_are_changed_added_and_removed_in_place() -> None:
    document = (
        parse(MANY)
        .set_in("partitionname", "all", "DEFAULT", "NO")
        .set_in("PartitionName", "all", "MaxTime", "60")
    )
    assert "PartitionName=all Nodes=ALL Default=NO MaxTime=60\n" in render(document)
    document = document.set_in("NodeName", "slinky-[0-3]", "RealMemory", "1").unset_in(
        "NodeName", "slinky-[0-3]", "cpus"
    )
    assert "NodeName=slinky-[0-3] \\\n  RealMemory=1 # big\n" in render(document)
    with pytest.raises(KeyError, match="PartitionName=ALL"):
        document.set_in("PartitionName", "ALL", "MaxTime", "60")


def test_entity_keys_are_no_settings() -> None:
    with pytest.raises(ConfError, match="fields"):
        parse("").set("partitionname", "x")


@given(CONFISH, VALUES)
def test_what_is_set_is_read_back_and_the_rest_stays(text: str, value: str) -> None:
    before = parse(text)
    after = before.set("Aa", value)
    assert after.get("aa") == value
    assert parse(render(after)) == after
    assert _others(before) == _others(after)
    assert _others(after.unset("AA")) == _others(before)


def _others(document: SlurmConf) -> list[tuple[str, str]]:
    return [(field.key, field.value) for _, field in document.settings() if field.key.lower() != "aa"]


@pytest.mark.parametrize("value", ["a\nNodeName=x", "a\rb", "a\0b", "a\tb", 'a "b"', '"a'])
def test_values_that_no_line_can_hold_are_refused(value: str) -> None:
    with pytest.raises(ConfError):
        format_value(value)


@pytest.mark.parametrize("line", ["Aa=1\nBb=2", "Aa=1\r", "Aa=\x1b[0m"])
def test_appended_lines_cannot_smuggle_another(line: str) -> None:
    with pytest.raises(ConfError):
        parse("").append(line)


def test_entity_lines_are_written_in_the_order_given() -> None:
    fields = {"Nodes": "slinky-[0-1]", "Comment": "for tests"}
    assert (
        entity_line("partitionname", "px", fields)
        == 'PartitionName=px Nodes=slinky-[0-1] Comment="for tests"'
    )
    with pytest.raises(ConfError, match="no key"):
        format_pair("Bad Key", "1")
