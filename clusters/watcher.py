"""The watcher process: which clusters it holds, and when each is looked at.

Run by `manage.py watch`. Several may run: a cluster is held by one at a time, under a token on its row that
every look prolongs, so a watcher that dies is replaced within `HOLD_S`. Each look runs in a thread of its
own, so a cluster that does not answer delays nobody. The database and Redis may go away at any time: it is
logged, and tried again.
"""

import logging
import random
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.db.models import Q
from django.utils import timezone

from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.provisioner import ClusterRef, Provisioner
from clusters.watch import HOLD_S, WATCHED, NotOurs, watch_once
from console import live

CLAIM_EVERY_S = 2.0
CREATING_TICK_S = 0.5  # its parts come up within seconds, and somebody watches them do so
LONGEST_SLEEP_S = 0.5
SHORTEST_PAUSE_S = 0.1
SLOW_S = 12.0
log = logging.getLogger(__name__)


@dataclass
class Held:
    """A cluster that this process looks after. Times are `time.monotonic`."""

    pk: int
    due: float
    began: float = 0.0
    complained: float = 0.0
    look: "Future[None] | None" = None
    seen_as: tuple[ClusterRef, Provisioner] | None = None

    def provisioner(self, cluster: Cluster) -> Provisioner:
        """Kept between looks, for what an adapter remembers; made anew when the region's settings change."""
        if self.seen_as is None or self.seen_as[0] != cluster.ref:
            self.seen_as = (cluster.ref, cluster.provisioner)
        return self.seen_as[1]


@dataclass
class Watcher:
    """At most `most_clusters` clusters, each looked at every `tick_s` seconds, give or take a tenth."""

    tick_s: float
    most_clusters: int = 64
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    held: dict[int, Held] = field(default_factory=dict)

    def run(self, stop: threading.Event) -> None:
        """Block until `stop` is set; then let go of every cluster."""
        pool = ThreadPoolExecutor(self.most_clusters, thread_name_prefix="watch")
        claimed = -CLAIM_EVERY_S
        while not stop.is_set():
            if time.monotonic() - claimed >= CLAIM_EVERY_S:
                self._guarded(self._claim)
                claimed = time.monotonic()
            self._start_looks(pool)
            self._guarded(self._complain)
            stop.wait(self._until_next())
        pool.shutdown(cancel_futures=True)
        self._guarded(self._let_go)

    def _claim(self) -> None:
        """Hold what nobody holds, while there is room, and forget what is no longer ours."""
        now, watched = timezone.now(), Cluster.objects.filter(status__in=WATCHED)
        ours = set(watched.filter(watch_token=self.token).values_list("pk", flat=True))
        free = watched.filter(Q(watch_until=None) | Q(watch_until__lt=now)).exclude(pk__in=self.held)
        for pk in free.order_by("?").values_list("pk", flat=True)[: max(0, self.most_clusters - len(ours))]:
            until = now + timedelta(seconds=HOLD_S)
            if free.filter(pk=pk).update(watch_token=self.token, watch_until=until):
                ours.add(pk)
        for pk in ours - self.held.keys():
            self.held[pk] = Held(pk, due=time.monotonic() + random.uniform(0, self.tick_s / 4))
        for pk in [pk for pk in self.held.keys() - ours if not self._is_looking(pk)]:
            del self.held[pk]

    def _start_looks(self, pool: ThreadPoolExecutor) -> None:
        now = time.monotonic()
        for held in self.held.values():
            if held.due <= now and not self._is_looking(held.pk):
                held.began = held.complained = now
                held.due = now + self.tick_s * random.uniform(0.9, 1.1)
                held.look = pool.submit(self._look, held)

    def _is_looking(self, pk: int) -> bool:
        look = self.held[pk].look
        return look is not None and not look.done()

    def _until_next(self) -> float:
        due = min((held.due for held in self.held.values()), default=0.0)
        return min(max(due - time.monotonic(), SHORTEST_PAUSE_S), LONGEST_SLEEP_S)

    def _look(self, held: Held) -> None:
        close_old_connections()
        try:
            cluster = Cluster.objects.select_related("team", "region").get(pk=held.pk, watch_token=self.token)
            watch_once(cluster, held.provisioner(cluster))
            if cluster.status == Status.CREATING:
                held.due = min(held.due, time.monotonic() + CREATING_TICK_S)
        except (NotOurs, Cluster.DoesNotExist):
            log.info("no longer watched here: cluster %s", held.pk)
        except DatabaseError as error:
            log.warning("not recorded: cluster %s: %s", held.pk, error)
        except Exception as error:
            # The watch tick: whatever an adapter or a recorder does, the next look comes.
            log.exception("look failed: cluster %s", held.pk)
            problem = f"Looking at the cluster failed: {error!r}"
            self._guarded(lambda: self._tell(held.pk, problem))

    def _complain(self) -> None:
        """Say on the page that a look takes too long, again every tick: silence is a state."""
        now = time.monotonic()
        for held in self.held.values():
            if (
                self._is_looking(held.pk)
                and now - held.began > SLOW_S
                and now - held.complained > self.tick_s
            ):
                held.complained = now
                self._tell(held.pk, f"The cluster has not answered for {now - held.began:.0f} s.")

    def _tell(self, pk: int, problem: str) -> None:
        """Write a problem without an observation. The hold is not prolonged: another watcher may do better."""
        ours = Cluster.objects.filter(pk=pk, watch_token=self.token)
        cluster = ours.first()
        if cluster is not None and ours.update(tried_at=timezone.now(), observed_problem=problem):
            at = cluster.observed_at and cluster.observed_at.isoformat()
            live.publish(live.cluster_topic(cluster.key), at=at, problem=problem)

    def _let_go(self) -> None:
        Cluster.objects.filter(watch_token=self.token).update(watch_token="", watch_until=None)

    def _guarded(self, act: Callable[[], None]) -> None:
        """Do `act` if the database lets us; it is done again a moment later anyway."""
        close_old_connections()
        try:
            act()
        except DatabaseError as error:
            log.warning("database away: %s", error)
