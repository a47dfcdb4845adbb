"""The whole life of a console on tiny processes: up, kept up, killed, recovered, stopped."""

import json
import os
import signal
import subprocess

import pytest

from console.run.identity import identity_of, is_alive, session_of
from tests.run.console import TinyConsole, all_gone, until

EVERYTHING = 6  # plain, parent and its child, daemon and what it left, flaky


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_leaves_no_process(tiny: TinyConsole, signum: int) -> None:
    tiny.up()
    before = tiny.processes()
    assert len(before) >= 4
    tiny.send(signum)
    assert tiny.wait() == 0
    assert all_gone(before)
    assert "nothing is left running" in tiny.text()


def test_ctrl_c_while_starting_leaves_no_process(tiny: TinyConsole) -> None:
    tiny.start()
    until(lambda: "once" in tiny.text())
    tiny.send(signal.SIGINT)
    assert tiny.wait() == 0
    assert tiny.processes() == []


def test_a_killed_run_takes_its_children_along(tiny: TinyConsole) -> None:
    tiny.up()
    children = [one for name, one in tiny.recorded().items() if not name.startswith("adopted")]
    tiny.kill()
    until(lambda: all_gone(children))


def test_the_run_after_a_kill_ends_what_was_left(tiny: TinyConsole) -> None:
    tiny.up()
    until(lambda: any(name.startswith("adopted") for name in tiny.recorded()))
    stubborn = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 303 & wait; wait"], start_new_session=True)
    identity = identity_of(stubborn.pid)
    assert identity is not None
    left = tiny.processes()
    recorded = {name: one.to_json() for name, one in tiny.recorded().items()}
    tiny.kill()
    (tiny.var / "run" / "pids.json").write_text(json.dumps({**recorded, "stubborn": identity.to_json()}))
    tiny.up()
    stubborn.wait(1)
    assert all_gone([*left, identity])
    assert "an earlier run was killed; ended what it left: " in tiny.text()


def test_a_reused_pid_is_never_killed(tiny: TinyConsole) -> None:
    tiny.up()
    tiny.kill()
    stranger = subprocess.Popen(["sleep", "304"], start_new_session=True)
    identity = identity_of(stranger.pid)
    assert identity is not None
    earlier = identity.started - 1
    record = {"worker": {"pid": identity.pid, "started": earlier}}
    (tiny.var / "run" / "pids.json").write_text(json.dumps(record))
    _write_keeper(tiny, {"pid": identity.pid, "start_ticks": earlier})
    try:
        tiny.up()
        tiny.send(signal.SIGINT)
        assert tiny.wait() == 0
        assert is_alive(identity)
        assert "an earlier run" not in tiny.text()
    finally:
        stranger.kill()
        stranger.wait()


def test_a_record_cut_short_is_no_obstacle(tiny: TinyConsole) -> None:
    tiny.up()
    tiny.kill()
    (tiny.var / "run" / "pids.json").write_text('{"worker": {"pid": 1')
    tiny.up()


def test_a_second_run_says_so_in_one_line(tiny: TinyConsole) -> None:
    tiny.up()
    second = TinyConsole(tiny.var, tiny.port)
    second.out = tiny.var.parent / "second.out"
    second.start()
    assert second.wait() == 1
    assert tiny.popen is not None
    assert second.text().splitlines() == [
        f"quarterdeck: a console already runs in this checkout (pid {tiny.popen.pid}) "
        f"at http://127.0.0.1:{tiny.port}: use it, or stop it: kill {tiny.popen.pid}"
    ]
    assert tiny.is_running
    until(lambda: len(tiny.processes()) == EVERYTHING)


def test_what_dies_is_started_again_with_its_session_swept(tiny: TinyConsole) -> None:
    tiny.up()
    until(lambda: len(tiny.processes()) == EVERYTHING)
    old, before = tiny.recorded()["parent"], tiny.processes()
    os.kill(old.pid, signal.SIGKILL)
    until(lambda: tiny.recorded().get("parent", old) != old and len(tiny.processes()) == EVERYTHING)
    assert "parent was killed by SIGKILL; starting it again in 0.5 s" in tiny.text()
    # The orphan of the killed one went with it: only the two others are as before.
    assert len([one for one in before if is_alive(one)]) == EVERYTHING - 2


def test_pauses_grow_while_it_keeps_dying(tiny: TinyConsole) -> None:
    tiny.up()
    (tiny.var / "break").touch()
    os.kill(tiny.recorded()["flaky"].pid, signal.SIGKILL)
    until(lambda: "flaky ended with status 1 (out of order); starting it again in 2 s" in tiny.text())
    assert "flaky ended with status 1 (out of order); starting it again in 1 s" in tiny.text()
    assert {"daemon", "parent", "plain"} <= set(tiny.recorded()) and "flaky" not in tiny.recorded()


def test_one_that_may_end_is_not_started_again(tiny: TinyConsole) -> None:
    tiny.up()
    until(lambda: "the brief one has done its work" in tiny.text())
    (tiny.var / "break").touch()
    os.kill(tiny.recorded()["flaky"].pid, signal.SIGKILL)
    until(lambda: "flaky ended with status 1" in tiny.text())  # so much later it would have been
    assert tiny.text().count("brief") == 2  # its step and its end


def test_one_that_fails_at_the_start_ends_the_run_with_its_last_words(tiny: TinyConsole) -> None:
    tiny.var.mkdir()
    (tiny.var / "refuse").touch()
    tiny.start()
    assert tiny.wait() == 1
    log = tiny.var / "log" / "once.log"
    assert f"quarterdeck: once ended with status 3: its log {log} ends: relation missing" in tiny.text()
    assert tiny.processes() == []


def test_the_keeper_of_a_cluster_is_stopped_with_the_run(tiny: TinyConsole) -> None:
    tiny.up()
    keeper = subprocess.Popen(["sleep", "305"], start_new_session=True)
    identity = identity_of(keeper.pid)
    assert identity is not None
    _write_keeper(tiny, {"pid": identity.pid, "start_ticks": identity.started})
    tiny.send(signal.SIGINT)
    tiny.wait()
    assert keeper.wait(1) == -signal.SIGTERM
    assert "stopped cluster demo" in tiny.text()


def test_a_daemon_that_left_its_session_does_not_outlive_the_run(tiny: TinyConsole) -> None:
    tiny.up()
    until(lambda: len(tiny.processes()) == EVERYTHING)
    leaders = {one.pid for name, one in tiny.recorded().items() if not name.startswith("adopted")}
    outside = [one for one in tiny.processes() if session_of(one.pid) not in leaders]
    assert len(outside) == 1
    tiny.send(signal.SIGINT)
    tiny.wait()
    assert all_gone(outside)


def _write_keeper(tiny: TinyConsole, record: dict[str, int]) -> None:
    """As a sandbox cluster named demo would."""
    path = tiny.var / "clusters" / "demo" / "keeper" / "pid.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record))
