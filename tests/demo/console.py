"""One whole console in a directory of its own, as `make run` starts it: every process, the demo and its real cluster.

`DemoConsole` starts it, speaks to its API, and reaches its processes by their recorded ids. It ends what it started
and nothing else.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from console.run.identity import Identity, identity_of, send
from console.run.layout import Layout
from console.run.table import console_rows

ROOT = Path(__file__).resolve().parents[2]
# The tests' own servers and secrets are not those of this console.
NOT_ITS_OWN = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "SEALING_KEYS", "QUARTERDECK_SECRETS_DIR")
UP_WITHIN_S = 90.0
STOPPED_WITHIN_S = 40.0
CLUSTER = "teams/research/clusters/demo"
LIVE = ("proposed", "checking", "applying", "observing", "rolling back")
UNCHECKED = """
import sys, django
django.setup()
from clusters.models import Change
from clusters.run import run
run(Change.objects.get(cluster__slug="demo", number=int(sys.argv[1])).pk)
"""


@dataclass(frozen=True)
class Answer:
    """What the API said. `body` is the JSON, None when there was none."""

    status: int
    body: Any
    media_type: str


@dataclass
class DemoConsole:
    var: Path
    port: int
    popen: "subprocess.Popen[bytes] | None" = None
    run: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def running_at(cls, var: Path) -> Self:
        """One that somebody else started and will stop."""
        run = json.loads((var / "run.json").read_text())
        return cls(var, int(run["url"].rsplit(":", 1)[1]), run=run)

    @classmethod
    def for_tests(cls, running: str) -> Iterator[Self]:
        """The one whose var/ the environment variable `running` names, to try a test on; else a new one that is stopped
        afterwards. Its directory may be passed through by others: as root, the database runs as another user.
        """
        if var := os.environ.get(running):
            yield cls.running_at(Path(var))
            return
        with tempfile.TemporaryDirectory(prefix="quarterdeck-tests-", ignore_cleanup_errors=True) as home:
            Path(home).chmod(0o711)
            made = cls(Path(home) / "var", free_port())
            try:
                made.start()
                yield made
            finally:
                made.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when the demo's cluster is Running and its jobs are in."""
        env = {name: value for name, value in os.environ.items() if name not in NOT_ITS_OWN}
        env |= {"QUARTERDECK_VAR_DIR": str(self.var), "PORT": str(self.port)}
        with (self.var.parent / "console.out").open("wb") as out:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "console.run"],
                cwd=ROOT,
                env=env,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        [queue_row] = [row for row in console_rows(Layout(ROOT, self.var), self.port) if row.ends_with]
        try:
            self._await("Quarterdeck is at")
            self.run = json.loads((self.var / "run.json").read_text())
            self._await(queue_row.ends_with)
            until(lambda: self.get("/jobs").body["results"], "the demo's jobs are seen", within_s=20)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.evidence()}") from error

    def stop(self) -> None:
        """As Ctrl-C does. Fails when a process with this console's mark is left."""
        if self.popen is None:
            return
        self.popen.send_signal(signal.SIGINT)
        try:
            assert self.popen.wait(STOPPED_WITHIN_S) == 0, self.said()
        finally:
            left = self.processes()
            for one in left:
                send(one, signal.SIGKILL)
        assert left == [], self.said()

    def said(self) -> str:
        """Everything that the supervisor has printed."""
        return (self.var.parent / "console.out").read_text()

    def evidence(self) -> str:
        """What was printed, and the end of every log: for the message of a failure."""
        logs = sorted([*self.var.glob("log/*.log"), *self.var.glob("clusters/*/log/*.log")])
        tails = [f"--- {log}\n" + "\n".join(_text_of(log).splitlines()[-15:]) for log in logs]
        return "\n".join([self.said(), *tails])

    def processes(self) -> list[Identity]:
        """Every live process that bears this console's mark, whoever started it."""
        mark = f"QUARTERDECK_VAR_DIR={self.var}".encode()
        homes = f"{self.var}/clusters/".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and any(
                one == mark or homes in one for one in _bytes_of(entry / "environ").split(b"\0")
            ):
                identity = identity_of(int(entry.name))
                found += [identity] if identity is not None else []
        return found

    def recorded(self) -> dict[str, Identity]:
        """The processes of the console's table that run, by name."""
        values = json.loads((self.var / "run" / "pids.json").read_text())
        return {name: Identity(**value) for name, value in values.items()}

    def pid(self, name: str) -> Identity:
        """One of web, worker, watch, terminals, postgres and redis."""
        return self.recorded()[name]

    def group(self, name: str) -> list[Identity]:
        """The process with all below it."""
        return [self.pid(name), *_below(self.pid(name).pid)]

    def daemons(self, name: str) -> list[Identity]:
        """The cluster's processes of this name, seen from outside its namespaces: below its keeper."""
        keepers = [
            json.loads(path.read_text())["pid"] for path in self.var.glob("clusters/*/keeper/pid.json")
        ]
        below = [one for keeper in keepers for one in _below(keeper)]
        return [one for one in below if name_of(one.pid) == name]

    def get(self, path: str, *, by: str = "ada") -> Answer:
        return self.ask("GET", f"{CLUSTER}{path}", by=by)

    def post(self, path: str, body: object = None, *, by: str = "ada") -> Answer:
        return self.ask("POST", f"{CLUSTER}{path}", body, by=by)

    def ask(self, method: str, path: str, body: object = None, *, by: str = "ada", token: str = "") -> Answer:
        """One request of the API as this person. Never raises for a status; 0 is no answer at all."""
        headers = {"Accept": "application/json"}
        if by or token:
            headers["Authorization"] = f"Bearer {token or self.run['users'][by]['token']}"
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return _answer(answer.status, answer)
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error.code, error)
        except OSError as error:
            return Answer(0, str(error), "")

    def submit(self, script: str, *, by: str = "ada") -> int:
        """A job from a script, and its number."""
        answer = self.post("/jobs", {"script": f"#!/bin/bash\n{script}\n"}, by=by)
        assert answer.status == 201, answer
        return int(answer.body["number"])

    def job(self, number: int) -> dict[str, Any]:
        """The job's row as the list has it; empty while nobody has seen it."""
        found = self.get(f"/jobs?q=state:any+id:{number}").body["results"]
        return found[0] if found else {}

    def node(self, name: str) -> dict[str, Any]:
        body: dict[str, Any] = self.get(f"/nodes/{name}").body
        return body

    def settle(self) -> dict[str, Any]:
        """Wait until no change is live; the newest one."""
        newest: dict[str, Any] = {}

        def ended() -> bool:
            newest.update(self.get("/changes?limit=1").body["results"][0])
            return newest["status"] not in LIVE

        until(ended, "the change has ended", within_s=90)
        return newest

    def run_unchecked(self, settings: str) -> dict[str, Any]:
        """Propose settings and carry the change out without the shadow controller's check, the worker kept from it.

        The only way to bring a file to the cluster that its daemons die of. Returns the change as it ended.
        """
        worker = self.pid("worker")
        env = dict(
            pair.split("=", 1)
            for pair in _bytes_of(Path(f"/proc/{worker.pid}/environ")).decode().split("\0")
            if "=" in pair
        )
        send(worker, signal.SIGSTOP)
        try:
            body = {"settings": settings, "base": self.get("").body["revision"]}
            answer = self.ask("PUT", f"{CLUSTER}/slurm-conf", body)
            assert answer.status == 202, answer
            subprocess.run(
                [sys.executable, "-c", UNCHECKED, str(answer.body["number"])],
                cwd=ROOT,
                env={**env, "QUARTERDECK_SHADOW_CHECK": "0"},
                check=True,
                timeout=100,
            )
        finally:
            send(worker, signal.SIGCONT)
        return self.settle()

    def _await(self, line: str, within_s: float = UP_WITHIN_S) -> None:
        until(
            lambda: line in self.said() or (self.popen and self.popen.poll() is not None),
            f"the console says {line!r}",
            within_s=within_s,
        )
        assert self.popen and self.popen.poll() is None, self.said()


def until(claim: Callable[[], object], what: str, *, within_s: float = 10) -> float:
    """Poll until it holds and return how long that took. Fails with `what` when it does not in time."""
    began = time.monotonic()
    while not claim():
        assert time.monotonic() < began + within_s, f"not within {within_s} s: {what}"
        time.sleep(0.1)
    return time.monotonic() - began


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def name_of(pid: int) -> str:
    return _bytes_of(Path(f"/proc/{pid}/comm")).decode(errors="replace").strip()


def _below(pid: int) -> list[Identity]:
    """All descendants of a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _bytes_of(task).split():
            identity = identity_of(int(child))
            found += ([identity] if identity else []) + _below(int(child))
    return found


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _text_of(path: Path) -> str:
    return _bytes_of(path).decode(errors="replace")


def _answer(status: int, response: Any) -> Answer:
    text = response.read()
    media_type = response.headers.get_content_type()
    return Answer(status, json.loads(text) if text and "json" in media_type else None, media_type)
