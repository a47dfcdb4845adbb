"""When the run says that the demo cluster is up."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console.run.demo_state import DemoState, verdict
from console.run.steps import Steps

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
EARLIER, LATER = (NOW - timedelta(seconds=1)).isoformat(), (NOW + timedelta(seconds=1)).isoformat()


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ({"status": "Running", "observed_at": LATER, "observed_problem": ""}, "is Running"),
        (
            {"status": "Running", "observed_at": LATER.replace("+00:00", "Z"), "observed_problem": ""},
            "is Running",
        ),
        (
            {"status": "Running", "observed_at": EARLIER, "observed_problem": ""},
            "",
        ),  # an earlier run saw that
        ({"status": "Running", "observed_at": LATER, "observed_problem": "demo does not run."}, ""),
        ({"status": "Running", "observed_at": None}, ""),
        ({"status": "Creating", "observed_at": LATER}, ""),
        ({"status": "Failed"}, "is Failed"),
        ({}, ""),
    ],
)
def test_it_runs_once_this_run_has_seen_it_well(cluster: dict[str, object], words: str) -> None:
    assert verdict(cluster, NOW) == words


@pytest.mark.parametrize("text", ["", "{}", '{"url": "http://127.0.0.1:1", "users": {}}'])
def test_no_answer_is_waited_for(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    out = io.StringIO()
    DemoState(tmp_path / "run.json", Steps(out)).look()
    assert out.getvalue() == ""
