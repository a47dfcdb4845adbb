"""A whole console without the sandbox's demo: `python -m tests.kube.browser.serve VAR PORT`.

Every process that `make run` has, people and a Slurm image, and no region: that is what the test begins with.
"""

import sys
from pathlib import Path

from console.run.__main__ import choose_servers, supervise
from console.run.layout import Layout
from console.run.steps import CannotRun, Steps
from console.run.table import Process, console_rows

ROOT = Path(__file__).resolve().parents[3]


def rows(layout: Layout, port: int) -> list[Process]:
    """The console's own, with `seed` in place of the demo and of its queue."""
    argv = [sys.executable, "-m", "tests.kube.browser.seed", str(layout.run_json), f"http://127.0.0.1:{port}"]
    seed = Process("seed", lambda: argv, tier=2, once=True)
    kept = {row.name: row for row in console_rows(layout, port) if row.name != "queue"}
    return [seed if name == "demo" else row for name, row in kept.items()]


def main(var: str, port: str) -> int:
    layout = Layout(ROOT, Path(var))
    try:
        layout.make()
        servers, env = choose_servers(layout)
        supervise(layout, [*servers, *rows(layout, int(port))], env, Steps(), port=int(port))
    except CannotRun as problem:
        print(problem.line(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
