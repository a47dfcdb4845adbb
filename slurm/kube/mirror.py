"""What a region's API server holds of the kinds that we look at, kept up to date by watching.

Reading costs no request, however many clusters and pages read: there is one watch for each kind. It has the same
`find` and `list` as `slurm.kube.client.Kube`, and like that it never answers from what it is not sure of: while the
first list is on its way it waits, and what has been out of date for some seconds raises Unavailable, with the reason.
A request every ten seconds (the pulse) tells a quiet server from a frozen one.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from console.errors import ConsoleError, Unavailable
from slurm.kube.client import Kube, Listed
from slurm.kube.follow import Follower, Pace, Wanted
from slurm.kube.kinds import EVENT, Kind, Thing

# A reader waits this long for the first list.
FIRST_LIST_S = 10.0
# Watches that broke are mended within a few seconds or not at all.
MOST_STALE_S = 15.0
UNUSED_S = 300.0


class Mirror:
    """Of the kinds in `wanted`; events only of namespaces that `is_ours` accepts. Stops by itself when nobody reads."""

    def __init__(
        self,
        kube: Kube,
        wanted: Iterable[Wanted],
        is_ours: Callable[[str], bool] = lambda namespace: True,
        pace: Pace | None = None,
    ) -> None:
        self.kube = kube
        self._pace = pace or Pace()
        self._followers: dict[Kind, list[Follower]] = {}
        for each in wanted:
            keeps = _only_in(is_ours) if each.kind is EVENT else _everything
            follower = Follower(kube, each, keeps, self._pace)
            self._followers.setdefault(each.kind, []).append(follower)
        self._heard_at = self._used_at = time.monotonic()
        self._deaf: ConsoleError | None = None
        self._ending = threading.Event()
        self._pulse = threading.Thread(target=self._listen, name="pulse", daemon=True)

    # Life

    def start(self) -> None:
        for follower in self._all():
            follower.start()
        self._pulse.start()

    def stop(self) -> None:
        """Idempotent; does not wait for the threads."""
        self._ending.set()
        for follower in self._all():
            follower.stop()

    @property
    def is_stopped(self) -> bool:
        return self._ending.is_set()

    # Reading

    def find(self, kind: Kind, name: str, namespace: str = "") -> Thing | None:
        """None when it is not there. Raises Unavailable, Unpermitted."""
        shelves = (follower.shelf for follower in self._sure(kind))
        found = (shelf.find(name, namespace) for shelf in shelves)
        return next((thing for thing in found if thing is not None), None)

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listed:
        """Of what is mirrored of the kind. `labels` may be equalities only (`a=b,c=d`); `fields` those it was mirrored
        with. Raises Unavailable, Unpermitted."""
        wanted = dict(pair.split("=", 1) for pair in labels.split(",") if pair)
        found: dict[tuple[str, str], Thing] = {}
        for follower in self._sure(kind):
            assert fields in ("", follower.wanted.fields), "the mirror holds no other selection"
            for thing in follower.shelf.list(namespace, wanted):
                found[thing["metadata"].get("namespace", ""), thing["metadata"]["name"]] = thing
        return Listed(tuple(found[key] for key in sorted(found)), "")

    # How it is

    def age(self, kind: Kind | None = None) -> float:
        """For how many seconds it may have missed something, of one kind or of any; 0 while all is well."""
        now = time.monotonic()
        followers = self._followers[kind] if kind else self._all()
        behind = [
            now - since for since in (follower.behind_since for follower in followers) if since is not None
        ]
        deaf = [now - self._heard_at] if self._deaf else []
        return max((*behind, *deaf), default=0.0)

    def problem(self, kind: Kind | None = None) -> ConsoleError | None:
        """Why, while it is behind."""
        followers = self._followers[kind] if kind else self._all()
        reasons = (follower.problem for follower in followers)
        return next((reason for reason in reasons if reason is not None), self._deaf)

    @property
    def requests(self) -> Counter[str]:
        """How often its client asked the API server, by verb; what others did with that client included."""
        return self.kube.requests

    def _all(self) -> Sequence[Follower]:
        return [follower for followers in self._followers.values() for follower in followers]

    def _sure(self, kind: Kind) -> Sequence[Follower]:
        """The followers of a kind, if what they know can be told."""
        self._used_at = time.monotonic()
        followers = self._followers[kind]
        for follower in followers:
            self._await_first_list(follower)
        if self.age(kind) > MOST_STALE_S:
            raise self.problem(kind) or Unavailable(
                f"The region's {kind.plural} have not been read for a while."
            )
        return followers

    def _await_first_list(self, follower: Follower) -> None:
        deadline = time.monotonic() + FIRST_LIST_S
        while not follower.listed.wait(0.05):
            if follower.problem is not None:
                raise follower.problem
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"The region's {follower.wanted.kind.plural} are still being read.", "Try again."
                )

    def _listen(self) -> None:
        """The pulse; also notices that nobody reads any more."""
        while not self._ending.wait(self._pace.pulse_s):
            if time.monotonic() - self._used_at > UNUSED_S:
                self.stop()
                return
            try:
                self.kube.version()
            except ConsoleError as error:
                self._deaf = error
            else:
                self._heard_at, self._deaf = time.monotonic(), None


def _everything(thing: Thing) -> bool:
    return True


def _only_in(is_ours: Callable[[str], bool]) -> Callable[[Thing], bool]:
    return lambda thing: is_ours(thing["metadata"].get("namespace", ""))
