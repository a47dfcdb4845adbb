"""A console of tiny processes: `python -m tests.run.tiny VAR PORT [real]` runs the real supervisor on a table of
its own.

`real` adds the embedded PostgreSQL and Redis. The others are sleepers; `parent` has a child in its session, as a
worker has its beat; `daemon` leaves one behind in a session of its own; `flaky` ends at once while the file
VAR/break exists, and `once` fails while VAR/refuse does.
"""

import sys
from pathlib import Path

from console.run.__main__ import choose_servers, supervise
from console.run.layout import Layout
from console.run.steps import CannotRun, Steps
from console.run.table import Process

SLEEP = ["sleep", "300"]
DAEMON = ["sh", "-c", "setsid --fork sleep 303; exec sleep 304"]
PARENT = [
    sys.executable,
    "-c",
    "import subprocess, time; subprocess.Popen(['sleep', '301']); time.sleep(300)",
]


def rows(layout: Layout) -> list[Process]:
    flaky = [
        "sh",
        "-c",
        'test ! -e "$0" && exec sleep 302; echo "out of order"; exit 1',
        str(layout.var / "break"),
    ]
    once = ["sh", "-c", 'test ! -e "$0" || { echo "relation missing"; exit 3; }', str(layout.var / "refuse")]
    return [
        Process(name="once", argv=lambda: once, tier=1, once=True),
        Process(name="plain", argv=lambda: SLEEP, tier=2, stop_within_s=2),
        Process(name="parent", argv=lambda: PARENT, tier=2, stop_within_s=2),
        Process(name="daemon", argv=lambda: DAEMON, tier=2, stop_within_s=2),
        Process(name="brief", argv=lambda: ["true"], tier=3, ends_with="the brief one has done its work"),
        Process(name="flaky", argv=lambda: flaky, tier=3, stop_within_s=2),
    ]


def main(var: str, port: str, *more: str) -> int:
    layout = Layout(Path(__file__).resolve().parent.parent.parent, Path(var))
    try:
        layout.make()
        servers, env = choose_servers(layout)
        chosen = servers if "real" in more else []
        supervise(layout, [*chosen, *rows(layout)], env, Steps(), port=int(port))
    except CannotRun as problem:
        print(problem.line(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
