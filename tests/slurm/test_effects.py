"""What each changed line costs, as the review page shows it."""

from hypothesis import given
from hypothesis import strategies as st

from slurm.effects import LineChange, line_diff, total_cost
from slurm.parameters import Cost
from tests.yardstick import in_yardsticks

OLD = """# ours
KillWait=30
PriorityType=priority/basic
SchedulerParameters=defer
PartitionName=px Nodes=slinky-0
NodeName=slinky-0 CPUs=8
"""


def _changes(old: str, new: str, version: str = "24.11") -> list[LineChange]:
    return [change for change in line_diff(old, new, version=version) if change.op != "same"]


def test_unchanged_text_costs_nothing() -> None:
    changes = line_diff(OLD, OLD)
    assert {change.op for change in changes} == {"same"}
    assert [change.new_line for change in changes] == [1, 2, 3, 4, 5, 6]
    assert total_cost(changes) is Cost.NONE


def test_a_changed_value_is_one_change_with_both_sides() -> None:
    (change,) = _changes(OLD, OLD.replace("KillWait=30", "killwait=60 # longer"))
    assert (change.op, change.old_line, change.new_line, change.key) == ("change", 2, 2, "KillWait")
    assert (change.old, change.new, change.cost) == ("KillWait=30", "killwait=60 # longer", Cost.RECONFIGURE)
    assert "KillWait" in change.reason and change.reason.endswith(".")


def test_added_and_removed_lines_keep_their_own_numbers() -> None:
    added, removed = _changes(
        OLD, OLD.replace("# ours\n", "# ours\nMinJobAge=60\n").replace("KillWait=30\n", "")
    )
    assert {added.op, removed.op} == {"add", "remove"}
    by_op = {change.op: change for change in (added, removed)}
    assert (by_op["add"].old_line, by_op["add"].new_line) == (None, 2)
    assert (by_op["remove"].old_line, by_op["remove"].new_line) == (2, None)


def test_comments_and_spelling_cost_nothing() -> None:
    new = OLD.replace("# ours", "# yours").replace("KillWait=30", 'KILLWAIT = "30"').replace("\n", "\n\n", 1)
    changes = _changes(OLD, new)
    assert changes
    assert total_cost(tuple(changes)) is Cost.NONE


def test_line_ends_alone_are_no_change() -> None:
    assert _changes(OLD, OLD.replace("\n", "\r\n")) == []


def test_a_plugin_costs_a_restart_only_where_slurm_needs_one() -> None:
    new = OLD.replace("priority/basic", "priority/multifactor")
    assert [change.cost for change in _changes(OLD, new, "22.05")] == [Cost.RESTART]
    assert [change.cost for change in _changes(OLD, new, "24.11")] == [Cost.RECONFIGURE]
    auth = _changes(OLD, OLD + "AuthType=auth/slurm\n", "26.05")
    assert [change.cost for change in auth] == [Cost.RESTART]


def test_partitions_and_nodes_say_what_becomes_of_jobs() -> None:
    (gone,) = _changes(OLD, OLD.replace("PartitionName=px Nodes=slinky-0\n", ""))
    assert gone.key == "PartitionName=px"
    assert "leave the queue" in gone.reason
    node = OLD + "NodeName=slinky-1 CPUs=8\n"
    assert [change.cost for change in _changes(OLD, node, "22.05")] == [Cost.RESTART]
    assert [change.cost for change in _changes(OLD, node, "24.11")] == [Cost.RECONFIGURE]
    assert "NODE_FAIL" in _changes(node, OLD)[0].reason


def test_a_reordered_stretch_pairs_lines_by_key() -> None:
    changes = _changes("KillWait=1\nMinJobAge=2\n", "MinJobAge=3\nKillWait=4\n")
    assert [(change.op, change.key, change.old_line, change.new_line) for change in changes] == [
        ("change", "MinJobAge", 2, 1),
        ("change", "KillWait", 1, 2),
    ]


CONF = st.lists(st.sampled_from(["# a", "", "KillWait=1", "KillWait=2", "PartitionName=p Nodes=a", "junk"]))


@given(CONF, CONF)
def test_both_texts_can_be_read_off_the_diff(old: list[str], new: list[str]) -> None:
    changes = line_diff("\n".join(old), "\n".join(new))
    before = sorted((change.old_line, change.old) for change in changes if change.old_line)
    after = sorted((change.new_line, change.new) for change in changes if change.new_line)
    assert [text for _, text in before] == _lines(old)
    assert [text for _, text in after] == _lines(new)


def _lines(lines: list[str]) -> list[str]:
    """The lines as the document counts them: an empty last piece is no line."""
    return lines[:-1] if lines and lines[-1] == "" else lines


def test_a_long_file_is_compared_quickly() -> None:
    old = "".join(f"# line {number}\n" for number in range(10_000))
    assert len(_changes(old, old + "KillWait=60\n")) == 1
    assert in_yardsticks(lambda: _changes(old, old + "KillWait=60\n")) < 10
