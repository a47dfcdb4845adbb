"""Several commands as one, by a real shell: each comes back as it would have alone."""

import sys

import pytest

from console.errors import Unavailable
from slurm.executors.local import LocalExecutor
from slurm.executors.series import apart, as_one

MARK = "<qwertyuiop>"


def python(code):
    return [sys.executable, "-c", code]


def each(*commands, limit_s=30.0):
    done = LocalExecutor().run(as_one(commands, MARK, limit_s), timeout_s=60)
    return apart(done, commands, MARK, limit_s)


def test_each_has_its_output_its_complaint_and_its_end():
    shout = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    first, second, third = each(["printf", "no newline"], shout, ["true"])
    assert (first.code, first.stdout, first.stderr) == (0, b"no newline", "")
    assert (second.code, second.stdout, second.stderr) == (3, b"out\n", "err\n")
    assert (third.code, third.stdout, third.stderr) == (0, b"", "")


@pytest.mark.parametrize(
    "word", ["", "two words", "$(id)", "';id;'", "*", "-n", "\\", "line\nline", MARK + " 0"]
)
def test_no_word_is_parsed_or_lost(word):
    show = python("import sys; sys.stdout.write(repr(sys.argv[1:]).encode().hex())")
    before, shown, after = each(["echo", "a"], [*show, word, "end"], ["echo", "b"])
    assert bytes.fromhex(shown.stdout.decode()).decode() == repr([word, "end"])
    assert (before.stdout, after.stdout) == (b"a\n", b"b\n")


def test_many_bytes_that_are_no_text_come_back():
    noise = python("import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)")
    found = each(noise, noise)
    assert [done.stdout for done in found] == [bytes(range(256)) * 4096] * 2


def test_one_that_does_not_end_is_late_and_the_rest_is_not_begun(tmp_path):
    trace = tmp_path / "begun"
    with pytest.raises(Unavailable, match="sleep did not answer within 0.3 s"):
        each(["true"], ["sleep", "60"], ["touch", str(trace)], limit_s=0.3)
    assert not trace.exists()


def test_one_that_is_not_there_is_said():
    with pytest.raises(Unavailable, match="no-such-command could not be started"):
        each(["true"], ["no-such-command"])


def test_a_series_that_was_cut_short_is_no_answer():
    commands = (["true"], ["true"])
    done = LocalExecutor().run(["sh", "-c", f"printf '{MARK} 0\\n'; printf '{MARK}\\n' >&2"])
    with pytest.raises(Unavailable):
        apart(done, commands, MARK, 4.0)
