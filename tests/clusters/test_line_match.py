"""Lines are matched as difflib matches them where that is quick, truly in every case, and quickly in every case."""

import random
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters import line_match
from clusters.diff import diff
from clusters.file_diff import file_diffs
from clusters.line_match import LineMatcher
from clusters.spec import ClusterSpec
from slurm.effects import line_diff
from tests.yardstick import in_yardsticks

texts = st.lists(st.sampled_from(["", "#", "a=1", "b=2", "c=3", "d=4"]), max_size=30)
# As many lines as a slurm.conf may have, and as a script may.
CONF, SCRIPT = 512 * 1024 // 2, 64 * 1024 // 2


def rebuilt(matcher: LineMatcher, old: list[str], new: list[str]) -> list[str]:
    """The new text, out of the old one and what the opcodes take from the new."""
    found: list[str] = []
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        found += old[first:last] if tag == "equal" else new[new_first:new_last]
    return found


@given(texts, texts)
def test_small_texts_are_matched_as_by_difflib(old: list[str], new: list[str]) -> None:
    assert LineMatcher(old, new).get_opcodes() == SequenceMatcher(None, old, new, False).get_opcodes()


@pytest.mark.parametrize("most", [0, 1, 7, 60])
@given(texts, texts)
def test_whatever_is_left_out_the_match_is_true(most: int, old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_match, "MOST_PAIRS", most)
        matcher = LineMatcher(old, new)
    assert rebuilt(matcher, old, new) == new
    old_end = new_end = 0
    for block in matcher.get_matching_blocks():
        assert block.a >= old_end and block.b >= new_end
        old_end, new_end = block.a + block.size, block.b + block.size


def test_edits_in_a_long_file_are_found_one_by_one() -> None:
    old = [line for n in range(5000) for line in (f"NodeName=n{n} CPUs=8", "")]
    new = [line.replace("CPUs=8", "CPUs=9") if "=n70 " in line or "=n4000 " in line else line for line in old]
    del new[6000:6002]
    new[100:100] = ["# new", ""]
    changed = [one for one in LineMatcher(old, new).get_opcodes() if one[0] != "equal"]
    assert len(changed) == 4 and sum(one[4] - one[3] for one in changed) == 4


def repeating(count: int) -> tuple[list[str], list[str]]:
    return ["#"] * count, ["x", *["#"] * (count // 2), "y", *["#"] * (count // 2 - 2)]


def shuffled(count: int) -> tuple[list[str], list[str]]:
    """No line is so frequent that difflib would leave it out, and each is there often."""
    lines = [chr(33 + number) for number in range(90)] * (count // 90)
    return random.Random(1).sample(lines, len(lines)), random.Random(2).sample(lines, len(lines))


def interleaved(count: int) -> tuple[list[str], list[str]]:
    """As many marks as can be, with stretches between them that have none."""
    old = [line for n in range(count // 8) for line in ("#", str(n), "#")]
    return old, [line for n in range(count // 8) for line in ("x", "#", str(n), "y")]


@pytest.mark.parametrize("shape", [repeating, shuffled, interleaved])
def test_no_text_takes_long(shape) -> None:  # type: ignore[no-untyped-def]
    old, new = shape(CONF)

    def match() -> None:
        assert rebuilt(LineMatcher(old, new), old, new) == new

    assert in_yardsticks(match, tries=1) < 150


def test_every_diff_of_a_spec_and_of_files_is_bounded() -> None:
    old, new = ("\n".join(lines) for lines in repeating(SCRIPT))
    empty = ClusterSpec(name="tiny", image="slurm-24-11", slurm_version="24.11", groups=())

    def compare() -> None:
        diff(empty.with_slurm_conf(old), empty.with_slurm_conf(new))
        file_diffs({"one": old}, {"one": new})
        line_diff(old, new)

    assert in_yardsticks(compare, tries=1) < 150
