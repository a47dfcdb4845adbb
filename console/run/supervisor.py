"""The supervisor: brings a process table up, keeps it up, and takes it down again.

One thread, no sockets of its own. It reads top to bottom: `run` is the whole life of a console. What the rows are
is in `table`; what is printed goes through `steps`.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from console.run.children import Child
from console.run.death import adopt_orphans
from console.run.identity import Identity, end, own_children
from console.run.interrupt import Interrupt
from console.run.layout import Layout
from console.run.logs import LogView
from console.run.records import ADOPTED, KEEPER_STOP_WITHIN_S, end_keepers, write_pids
from console.run.services import last_line, last_words
from console.run.steps import CannotRun, Steps
from console.run.table import Process

LOOK_EVERY_S = 0.5


class Supervisor:
    """Holds the children of one run. Not reusable: one object, one run."""

    def __init__(self, layout: Layout, env: Mapping[str, str], steps: Steps, interrupt: Interrupt) -> None:
        self.layout = layout
        self.env = env
        self.steps = steps
        self.interrupt = interrupt
        self.children: list[Child] = []
        self.views: dict[str, LogView] = {}
        self.recorded: dict[str, Identity] = {}
        self.finished: list[Child] = []
        adopt_orphans()

    def bring_up(self, rows: Sequence[Process]) -> None:
        """Start every row in order. Raises `CannotRun` at the first that fails, `StopAsked` when interrupted."""
        for tier in sorted({row.tier for row in rows}):
            members = [row for row in rows if row.tier == tier]
            for row in members:
                if row.once:
                    self._run_once(row)
            lasting = [row for row in members if not row.once]
            begun = [self._begin(row) for row in lasting]
            for child in begun:
                self._await_ready(child)

    def keep_up(self, on_look: Callable[[], None] = lambda: None) -> None:
        """Watch until a stop is asked for (`StopAsked`). Restarts what dies, with growing pauses."""
        self.views = {child.row.name: LogView(child.log) for child in self.children}
        while True:
            self.interrupt.pause(LOOK_EVERY_S)
            self._reap_adopted()
            for child in self.children:
                self._look_at(child)
            self._record()
            on_look()

    def take_down(self) -> None:
        """Stop all in reverse order, each tier at most its own time, then by force. Never raises; nothing is left
        after.
        """
        self.interrupt.stopping = True
        tiers = sorted({child.row.tier for child in self.children}, reverse=True)
        for tier in tiers:
            if tier == 0:
                self._end_clusters()
            self._stop_tier([child for child in self.children if child.row.tier == tier])
        if 0 not in tiers:
            self._end_clusters()
        end(self._adopted(), signum=signal.SIGTERM, within_s=2.0)
        self._reap_adopted()
        self.layout.pids.unlink(missing_ok=True)

    def _run_once(self, row: Process) -> None:
        child = Child(row, self._log_of(row))
        with self.steps.step(row.name) as step:
            self.children.append(child)
            self._start(child)
            deadline = time.monotonic() + row.ready_within_s
            while child.is_running:
                if time.monotonic() > deadline:
                    raise _too_slow(child, "did not finish")
                self.interrupt.pause(0.1)
            self.children.remove(child)
            self._record()
            if not child.ended_well:
                raise CannotRun(f"{row.name} {child.verdict}", last_line(child.log))
            step.note = "done"

    def _begin(self, row: Process) -> Child:
        child = Child(row, self._log_of(row))
        self.children.append(child)
        self._start(child)
        return child

    def _await_ready(self, child: Child) -> None:
        row = child.row
        with self.steps.step(row.name, child.started_at) as step:
            deadline = time.monotonic() + row.ready_within_s
            while row.is_ready is not None and not row.is_ready():
                if not child.is_running:
                    raise CannotRun(f"{row.name} {child.verdict}", last_line(child.log))
                if time.monotonic() > deadline:
                    raise _too_slow(child, "was not ready")
                self.interrupt.pause(0.05)
            step.note = "started" if row.is_ready is None else "ready"

    def _log_of(self, row: Process) -> Path:
        return self.layout.log / f"{row.name}.log"

    def _start(self, child: Child) -> None:
        child.start(self.env, self.layout.root)
        self._record()

    def _record(self) -> None:
        """Write down who runs, when that has changed: the next run needs it if we are killed."""
        running = [child for child in self.children if child.is_running]
        now = {one.row.name: one.identity for one in running if one.identity is not None}
        now |= {f"{ADOPTED}{one.pid}": one for one in self._adopted()}
        if now != self.recorded:
            write_pids(self.layout, now)
            self.recorded = now

    def _adopted(self) -> list[Identity]:
        """Our children that are not of the table: daemons that left it, and what dead children left."""
        known = {child.identity for child in self.children}
        return [one for one in own_children() if one not in known]

    def _look_at(self, child: Child) -> None:
        view = self.views[child.row.name]
        for line in view.important_lines():
            self.steps.event(f"{child.row.name}: {line}")
        view.rotate()
        if child.is_running or child in self.finished:
            return
        if child.start_again_at is None:
            self._take_note_of_end(child)
        elif time.monotonic() >= child.start_again_at:
            self._start(child)

    def _take_note_of_end(self, child: Child) -> None:
        child.sweep()
        if child.row.ends_with and child.ended_well:
            self.finished.append(child)
            self.steps.event(child.row.ends_with)
            return
        pause = child.plan_restart()
        last = f" ({words})" if (words := last_words(child.log)) else ""
        self.steps.event(
            f"{child.row.name} {child.verdict}{last}; starting it again in {pause:g} s; see {child.log}"
        )

    def _stop_tier(self, members: Sequence[Child]) -> None:
        began = time.monotonic()
        for child in members:
            child.ask_to_end()
        longest = max((child.row.stop_within_s for child in members), default=0.0)
        while any(child.is_running for child in members):
            if self.interrupt.hurry or time.monotonic() - began > longest:
                break
            self.interrupt.pause(0.05)
        for child in members:
            if child.is_running:
                self.steps.event(
                    f"{child.row.name} did not stop within {child.row.stop_within_s:.0f} s and was killed"
                )
            child.sweep()

    def _end_clusters(self) -> None:
        ended = end_keepers(self.layout, within_s=1.0 if self.interrupt.hurry else KEEPER_STOP_WITHIN_S)
        if ended:
            self.steps.event(f"stopped {', '.join(ended)}")

    def _reap_adopted(self) -> None:
        """Reap orphans that came to us. Those of the table are left to their Popen, which wants the status itself."""
        ours = {child.popen.pid for child in self.children if child.popen is not None}
        with suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid in ours:
                    return
                os.waitpid(ended.si_pid, os.WNOHANG)


def _too_slow(child: Child, what: str) -> CannotRun:
    return CannotRun(f"{child.row.name} {what} within {child.row.ready_within_s:.0f} s", last_line(child.log))
