"""Follows the objects of one kind: lists them, watches from there, and lists again when that is lost.

How (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes): a watch goes on from
the last resourceVersion seen, bookmarks included, over any number of broken connections; 410 means that the server has
forgotten that version, so all is listed anew; and every ten minutes all is listed anew in any case, to heal what a bug
on either side lost.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from console.errors import ConsoleError, Unavailable
from slurm.kube.client import Kube
from slurm.kube.errors import Gone
from slurm.kube.kinds import Kind, Thing
from slurm.kube.shelf import Shelf
from slurm.kube.watch import Seen, Watch

log = structlog.get_logger()
# A watch that the server ends sooner was not meant to last.
_TOO_SHORT_S = 1.0


@dataclass(frozen=True)
class Wanted:
    """All objects of a kind that fit both selectors."""

    kind: Kind
    labels: str = ""
    fields: str = ""


@dataclass(frozen=True)
class Pace:
    """In seconds. `watch_s` is how long the server keeps one watch; `silence_s` without even a bookmark (one a minute)
    is a dead connection."""

    relist_s: float = 600.0
    watch_s: int = 300
    silence_s: float = 90.0
    first_pause_s: float = 0.5
    longest_pause_s: float = 10.0
    pulse_s: float = 10.0


class Follower:
    """One thread, from `start` to `stop`. What it knows is on its `shelf`; whether that holds is `behind_since`."""

    def __init__(
        self, kube: Kube, wanted: Wanted, keeps: Callable[[Thing], bool], pace: Pace, name: str = ""
    ) -> None:
        self.wanted = wanted
        self.shelf = Shelf(wanted.kind, keeps)
        self.listed = threading.Event()
        # Since when it may have missed something (time.monotonic), and why; None while a watch is open.
        self.behind_since: float | None = time.monotonic()
        self.problem: ConsoleError | None = None
        self._kube, self._pace = kube, pace
        self._ending = threading.Event()
        self._version = ""
        self._watch: Watch | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"follow {wanted.kind.plural} {name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Does not wait: the thread ends within a moment, at the latest when its request does."""
        self._ending.set()
        if watch := self._watch:
            watch.close()

    def _run(self) -> None:
        pauses = _Pauses(self._pace)
        while not self._ending.is_set():
            try:
                self._once(pauses)
            except ConsoleError as error:
                self._fell_behind(error)
            except Exception:  # noqa: BLE001 - a thread that ends by itself would look like a quiet region for ever
                log.exception("follow_failed", kind=self.wanted.kind.plural)
                self._version = ""
                self._fell_behind(
                    Unavailable(f"The console could not read the region's {self.wanted.kind.plural}.")
                )
            self._ending.wait(pauses.next())

    def _once(self, pauses: "_Pauses") -> None:
        """List unless it is known where to go on, then watch until the next list is due. Raises ConsoleError."""
        list_again_at = time.monotonic() + self._pace.relist_s * random.uniform(0.8, 1.2)
        if not self._version:
            self._list()
        try:
            while time.monotonic() < list_again_at and not self._ending.is_set():
                began = time.monotonic()
                self._follow()
                if time.monotonic() - began < _TOO_SHORT_S:
                    return
                pauses.reset()
        except Gone:
            self._version = ""
            raise
        self._version = ""
        pauses.reset()

    def _list(self) -> None:
        wanted = self.wanted
        listed = self._kube.list(wanted.kind, labels=wanted.labels, fields=wanted.fields)
        self.shelf.replace(listed.items)
        self._version = listed.version
        self._caught_up()
        self.listed.set()

    def _follow(self) -> None:
        """One watch, to its end."""
        wanted, pace = self.wanted, self._pace
        self._watch = watch = self._kube.watch(
            *(wanted.kind, self._version),
            labels=wanted.labels,
            fields=wanted.fields,
            timeout_s=pace.watch_s,
            silence_s=pace.silence_s,
        )
        self._caught_up()
        try:
            for seen in watch:
                self._take(seen)
                if self._ending.is_set():
                    return
        finally:
            watch.close()

    def _take(self, seen: Seen) -> None:
        if seen.type == "DELETED":
            self.shelf.drop(seen.thing)
        elif seen.type in ("ADDED", "MODIFIED"):
            self.shelf.put(seen.thing)
        self._version = seen.thing["metadata"]["resourceVersion"]

    def _caught_up(self) -> None:
        self.behind_since, self.problem = None, None

    def _fell_behind(self, error: ConsoleError) -> None:
        self.problem = error
        if self.behind_since is None:
            self.behind_since = time.monotonic()


class _Pauses:
    """Longer each time, up to a limit, and never two processes at the same moment."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self.reset()

    def reset(self) -> None:
        self._length_s = self._pace.first_pause_s

    def next(self) -> float:
        length_s = self._length_s * random.uniform(0.5, 1.0)
        self._length_s = min(2 * self._length_s, self._pace.longest_pause_s)
        return length_s
