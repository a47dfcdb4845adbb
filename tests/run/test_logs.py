"""What of the processes' logs reaches the console's own terminal."""

from pathlib import Path

import pytest

from console.run import logs
from console.run.logs import LogView


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "web.log"
    path.write_text("2026-11-30 ERROR an old one\n")
    return path


def test_only_new_errors_are_shown(log: Path) -> None:
    view = LogView(log)
    with log.open("a") as out:
        out.write("INFO a request\nERROR the queue is full\nWARNING slow\n")
    assert view.important_lines() == ["ERROR the queue is full"]
    assert view.important_lines() == []


def test_a_flood_is_cut_and_counted(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "QUIET_S", 0.0)
    view = LogView(log)
    with log.open("a") as out:
        out.write("ERROR again\n" * 100)
    assert view.important_lines() == ["ERROR again"] * 5 + [f"and 95 more in {log}"]


def test_a_process_that_errs_all_the_time_is_quoted_every_five_seconds(log: Path) -> None:
    view = LogView(log)
    for expected in (["ERROR 0"], []):
        with log.open("a") as out:
            out.write("ERROR 0\n")
        assert view.important_lines() == expected


def test_control_characters_do_not_reach_the_terminal(log: Path) -> None:
    view = LogView(log)
    with log.open("a") as out:
        out.write("ERROR \x1b[2J\x07 job\n")
    assert view.important_lines() == ["ERROR  [2J  job"]


def test_a_large_log_is_set_aside_under_its_writer(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LARGEST_BYTES", 1000)
    view = LogView(log)
    with log.open("ab", buffering=0) as writer:
        writer.write(b"x" * 2000)
        view.rotate()
        writer.write(b"ERROR after\n")
    assert log.read_bytes() == b"ERROR after\n"
    assert log.with_suffix(".log.1").stat().st_size > 2000
    assert view.important_lines() == ["ERROR after"]
