"""The local executor: limits, environment, and what it does with a command that will not end."""

import os
import sys
import time

import pytest

from console.errors import Unavailable
from slurm.executors.local import LocalExecutor


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_errors_and_exit_code_come_back():
    done = LocalExecutor().run(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))
    assert (done.code, done.stdout, done.stderr) == (3, b"out\n", "err\n")


def test_stdin_larger_than_a_pipe_is_delivered_while_output_is_read():
    sent = os.urandom(1 << 20)
    code = "import sys; d = sys.stdin.buffer.read(); sys.stdout.buffer.write(d)"
    assert LocalExecutor().run(python(code), stdin=sent, timeout_s=20).stdout == sent


def test_callers_environment_does_not_leak(monkeypatch):
    monkeypatch.setenv("SQUEUE_FORMAT", "%j")
    code = "import os; print(sorted(os.environ.items()))"
    text = LocalExecutor(env={"SLURM_CONF": "/x"}).run(python(code)).stdout.decode()
    assert "SQUEUE" not in text
    for expected in ("('TZ', 'UTC')", "('SLURM_BITSTR_LEN', '0')", "('SLURM_CONF', '/x')", "C.UTF-8"):
        assert expected in text


def test_commands_start_in_the_given_directory(tmp_path):
    executor = LocalExecutor(["env"], directory=str(tmp_path))
    assert executor.run(["pwd"]).stdout.decode().strip() == str(tmp_path)


def test_a_command_that_hangs_is_ended_with_its_children():
    code = "import os, time; os.fork(); print(os.getpid(), flush=True); time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(Unavailable, match="did not answer within 0.5 s"):
        LocalExecutor().run(python(code), timeout_s=0.5)
    assert time.monotonic() - began < 3


def test_a_child_that_keeps_the_output_open_does_not_outlive_the_limit(tmp_path):
    note = tmp_path / "pid"
    code = f"""
import os, time
if os.fork() == 0:
    open({str(note)!r}, "w").write(str(os.getpid()))
    time.sleep(60)
"""
    with pytest.raises(Unavailable):
        LocalExecutor().run(python(code), timeout_s=1)
    child = int(note.read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _runs(child):
        os.sched_yield()
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_output_beyond_the_limit_is_refused():
    with pytest.raises(Unavailable, match="more than"):
        LocalExecutor(most_bytes=1 << 20).run(python("print('x' * (2 << 20))"))


def test_absent_commands_are_unavailable_with_and_without_a_prefix():
    with pytest.raises(Unavailable, match="squeue-nowhere could not be started"):
        LocalExecutor().run(["squeue-nowhere"])
    with pytest.raises(Unavailable, match="squeue-nowhere could not be started"):
        LocalExecutor(["env"]).run(["squeue-nowhere"])
