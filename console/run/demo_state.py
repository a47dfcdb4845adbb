"""Says when the demo cluster runs: the moment a newcomer waits for. Asks the console's own API, as any script
would.
"""

import json
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from console.run.steps import Steps

PATH = "/api/v1/teams/research/clusters/demo"
LOOK_EVERY_S = 1.0
PATIENCE_S = 180.0


class DemoState:
    """Looks about once a second until it has said how the cluster is; then costs nothing."""

    def __init__(self, run_json: Path, steps: Steps) -> None:
        self.run_json = run_json
        self.steps = steps
        self.began = time.monotonic()
        self.began_at = datetime.now(UTC)
        self.next_look = 0.0
        self.said = False

    def look(self) -> None:
        """Blocks at most 2 s when the web server is stuck. Never raises for an answer that does not come."""
        now = time.monotonic()
        if self.said or now < self.next_look:
            return
        self.next_look = now + LOOK_EVERY_S
        sentence = verdict(self._ask(), self.began_at)
        if not sentence and now - self.began > PATIENCE_S:
            sentence = f"does not run after {PATIENCE_S:.0f} s; its page says why"
        if sentence:
            self.said = True
            self.steps.event(f"cluster demo {sentence}  ({now - self.began:.1f} s after the start)")

    def _ask(self) -> dict[str, object]:
        """The cluster as the API shows it; empty when it does not answer."""
        try:
            known = json.loads(self.run_json.read_text())
            token = next(iter(known["users"].values()))["token"]
            request = urllib.request.Request(
                known["url"] + PATH, headers={"Authorization": f"Bearer {token}"}
            )
            with urllib.request.urlopen(request, timeout=2) as answer:
                found = json.load(answer)
        except (OSError, ValueError, KeyError, StopIteration):
            return {}
        return found if isinstance(found, dict) else {}


def verdict(cluster: dict[str, object], since: datetime) -> str:
    """How the cluster is, in words; empty while that is open. What was seen before `since` was seen by an earlier
    run.
    """
    status, seen = cluster.get("status"), cluster.get("observed_at")
    if status in ("Failed", "Terminated"):
        return f"is {status}"
    if status != "Running" or not isinstance(seen, str) or cluster.get("observed_problem"):
        return ""
    return "is Running" if datetime.fromisoformat(seen) > since else ""
