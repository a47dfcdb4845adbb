"""Workers killed at random (SIGKILL) in every act on real clusters: the next one brings each to exactly the old state
or the new one, and nothing is left over.

The dice are seeded by KILLS_SEED, or anew; the seed is printed. A few kills are done every time, `make test-long` does
two hundred.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from clusters import answers, changes
from clusters.lifecycle import Status
from clusters.machine import LIVE, ChangeStatus, Kind
from clusters.models import Change, Cluster, Image, Region
from clusters.observation import Verdict
from clusters.spec import ClusterSpec, Mount
from clusters.watch import NotOurs, watch_once
from console.errors import ConsoleError
from slurm.provisioners.sandbox.adapter import Sandbox
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.space import keeping
from storage import tending, volumes
from storage.kinds import Kind as VolumeKind
from storage.models import Offer
from tests.cast import Cast, the_cast, the_region
from tests.clusters.test_kill import worker_environment
from tests.contracts.platforms import GPU, SPEC
from tests.slurm.kills.acts import (
    CLONE,
    CPU_SHAPE,
    CREATE,
    DELETE,
    EDITS,
    ENDS_JOBS,
    IN_LIFE,
    NEW_IMAGE,
    OLD_IMAGE,
    REBOOT,
    RESTARTS,
    ROLLING,
    TERMINATE,
    with_image,
)
from tests.slurm.kills.remains import NOTHING_RUNS, found, nothing_of, wanted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(7200)]
SETTLE_S = 90.0
SIGKILL = 9
# What an act passes, about, and what a restart does; the first one that was not killed tells better.
ABOUT = {"sql": 60, "disk": 40, "seconds": 2.0}
ABOUT_RESTARTS = {"sql": 6, "disk": 8, "seconds": 0.1}
FIRST = replace(
    SPEC,
    name="kills",
    groups=(
        replace(SPEC.groups[0], shape=replace(GPU, plan="gpu-8x")),
        replace(SPEC.groups[1], shape=CPU_SHAPE),
    ),
)


class Ordeal:
    """One cluster after the other, each killed at through its whole life."""

    def __init__(self, cast: Cast, region: Region, dice: Random, mount: Mount, worker: "Worker") -> None:
        self.cast, self.region, self.dice, self.mount, self.worker = cast, region, dice, mount, worker
        self.cluster: Cluster | None = None
        self.job = ""
        self.about: dict[str, dict[str, float]] = {}
        self.struck: Counter[str] = Counter()
        self.missed = 0

    # One act each, killed once or twice, and looked at when all is over

    def strike(self, act: str) -> None:
        if act in (CREATE, CLONE):
            self._create(act)
        elif act in (TERMINATE, DELETE):
            self._end(act)
        elif act in RESTARTS or act == REBOOT:
            self._restart(act)
        elif act == ROLLING:
            self._roll()
        else:
            self._edit(act)

    def _create(self, act: str) -> None:
        spec = with_image(self._spec() if self.cluster else FIRST, OLD_IMAGE)
        spec = replace(spec, name=f"{FIRST.name}{sum(self.struck.values())}")
        former = self.cluster
        self.cluster = changes.create_cluster(self.cast.team, self.region, spec, by=self.cast.ada)
        self._carry(act, self.cluster.changes.get(), ChangeStatus.COMMITTED)
        self._look(spec)
        if former:
            self._end(DELETE, former)

    def _edit(self, act: str) -> None:
        cluster, before = self._cluster(), self._spec()
        edit = EDITS.get(act)
        if edit is None:
            change, after, ending = (
                changes.reconfigure(cluster, by=self.cast.ada),
                before,
                ChangeStatus.COMMITTED,
            )
        else:
            after, ending = edit.after(before, self.dice, self.mount), edit.ending
            if after == before:
                return
            change = changes.propose(cluster, after, base=cluster.revision.number, by=self.cast.ada)
        ended = self._carry(act, change, ending, shadow=edit is None or edit.shadow)
        self._look(after if ended is ChangeStatus.COMMITTED else before)

    def _restart(self, act: str) -> None:
        part = RESTARTS.get(act) or self.dice.choice(self._spec().node_names)
        order = {"restart": part, "cluster": self._cluster().pk, "by": self.cast.ada.pk}
        self._strike(act, order)
        sandbox = self._sandbox()

        def is_over() -> bool:
            watch_once(Cluster.objects.get(pk=self._cluster().pk))
            state = keeping(sandbox.home)
            epochs = epochs_of(sandbox.home)
            return state is not None and all(d.epoch == epochs.get(d.name, 0) for d in state.daemons)

        self._until(is_over, "every restart that was begun is done")
        self._look(self._spec(), had_job=act not in ENDS_JOBS)

    def _roll(self) -> None:
        spec = self._spec()
        if nodes := [name for name in spec.node_names if name != "slinky-0"]:
            change = changes.restart(
                self._cluster(),
                nodes,
                by=self.cast.ada,
                at_once=self.dice.choice((1, len(nodes))),
                when_idle=True,
            )
            self._carry(ROLLING, change, ChangeStatus.COMMITTED)
            self._look(spec)

    def _end(self, act: str, cluster: Cluster | None = None) -> None:
        cluster = cluster or self._cluster()
        home = self._sandbox(cluster).home
        end = changes.terminate if act == TERMINATE else changes.delete
        cluster = Cluster.objects.get(pk=cluster.pk)
        self._carry(act, end(cluster, by=self.cast.ada), ChangeStatus.COMMITTED)
        cluster.refresh_from_db()
        assert cluster.status == (Status.TERMINATED if act == TERMINATE else Status.DELETED)
        assert home.exists() is (act == TERMINATE)
        self._until(lambda: nothing_of(home) == NOTHING_RUNS, "nothing is left", lambda: nothing_of(home))
        self.job = ""

    # The worker and its deaths

    def _carry(self, act: str, change: Change, ending: ChangeStatus, *, shadow: bool = True) -> ChangeStatus:
        order = {"change": change.pk, "shadow": shadow}
        self._strike(act, order)
        endings = {ending}
        if self._is_live(change) and change.kind in (Kind.EDIT, Kind.RESTART) and self.dice.random() < 0.2:
            change.refresh_from_db()
            if change.can_be_cancelled:
                answers.cancel(change, by=self.cast.ada)
                endings |= {ChangeStatus.STOPPED}
        deaths = 0
        while self._is_live(change):
            if self.dice.random() < 0.5:
                with suppress(NotOurs):  # one that is being deleted is not looked at any more
                    watch_once(Cluster.objects.get(pk=change.cluster_id))
            self._expire(change)
            die = self._point(act) if self.dice.random() < 0.3 and deaths < 2 else ("never", 0)
            deaths += self.worker.do(order, die)["signal"] == SIGKILL
        change.refresh_from_db()
        said = "\n".join(change.lines.values_list("text", flat=True))
        assert change.status in endings, f"{act}: {change.status}\n{said}"
        return ChangeStatus(change.status)

    def _strike(self, act: str, order: dict[str, Any]) -> None:
        die = self._point(act)
        print(f"{act}: {die}", flush=True)
        answer = self.worker.do(order, die)
        if answer["signal"] == SIGKILL:
            self.struck[act] += 1
            return
        assert answer["status"] == 0, answer
        self.missed += 1
        self.about[act] = {name: answer[name] for name in ABOUT}

    def _point(self, act: str) -> tuple[str, float]:
        about = self.about.get(act, ABOUT_RESTARTS if act in RESTARTS or act == REBOOT else ABOUT)
        kind = self.dice.choice(("disk", "disk", "disk", "sql", "moment", "moment"))
        if kind == "moment":
            return kind, self.dice.random() * about["seconds"]
        return kind, self.dice.randrange(1, max(2, int(about[kind])))

    def _is_live(self, change: Change) -> bool:
        return Change.objects.filter(pk=change.pk, status__in=LIVE).exists()

    def _expire(self, change: Change) -> None:
        """Let the dead worker's lease run out, without waiting for it."""
        past = timezone.now() - timedelta(seconds=1)
        Change.objects.filter(pk=change.pk, lease_until__isnull=False).update(lease_until=past)

    # What is there afterwards

    def _look(self, spec: ClusterSpec, *, had_job: bool = True) -> None:
        cluster, sandbox = self._cluster(), self._sandbox()
        assert (cluster.status, self._spec()) == (Status.RUNNING, spec)
        self._until(
            lambda: sandbox.judge(spec).verdict is Verdict.DONE, "as wanted", lambda: sandbox.judge(spec)
        )

        def is_exact() -> bool:
            watch_once(cluster)
            return found(sandbox, spec) == wanted(sandbox, spec)

        self._until(is_exact, "nothing else", lambda: self._difference(spec))
        assert set(cluster.nodes.values_list("name", flat=True)) == set(spec.node_names)
        assert not cluster.observed_drift
        if had_job and self.job:
            assert self._job_state() == "RUNNING", "a job ended that no act was to touch"
        else:
            self._submit()

    def _difference(self, spec: ClusterSpec) -> dict[str, object]:
        sandbox = self._sandbox()
        want, has = wanted(sandbox, spec), found(sandbox, spec)
        return {name: (has[name], want[name]) for name in want if has[name] != want[name]}

    def _submit(self) -> None:
        if self.job:
            self._ask("scancel", self.job)
        argv = ["sbatch", "--parsable", "-t60", "-n1", "--mem=100", "-o", "/dev/null", "-w", "slinky-0"]
        self.job = self._ask(*argv, "--wrap", "sleep 3600").strip()
        self._until(lambda: self._job_state() == "RUNNING", "the job runs", self._job_state)

    def _job_state(self) -> str:
        return self._ask("squeue", "-h", "-t", "all", "-o", "%T", "-j", self.job).strip() if self.job else ""

    def _ask(self, *argv: str) -> str:
        done = self._sandbox().executor().run(argv, timeout_s=20)
        return done.stdout.decode()

    def _cluster(self) -> Cluster:
        assert self.cluster is not None
        return Cluster.objects.select_related("team", "region", "revision").get(pk=self.cluster.pk)

    def _spec(self) -> ClusterSpec:
        return self._cluster().spec

    def _sandbox(self, cluster: Cluster | None = None) -> Sandbox:
        provisioner = (cluster or self._cluster()).provisioner
        assert isinstance(provisioner, Sandbox)
        return provisioner

    def _until(self, holds: Callable[[], bool], what: str, why: Callable[[], object] = lambda: "") -> None:
        give_up = time.monotonic() + SETTLE_S
        while not _is_so(holds):
            assert time.monotonic() < give_up, f"not {what}: {why()}"
            time.sleep(0.1)

    def clear(self) -> None:
        for cluster in Cluster.objects.exclude(status=Status.DELETED):
            cluster.provisioner.destroy(lambda text: None)


def _is_so(holds: Callable[[], bool]) -> bool:
    """Not while somebody does not answer yet."""
    try:
        return holds()
    except ConsoleError:
        return False


class Worker:
    """The process of `tests.slurm.kills.mortal`, spoken to line by line."""

    def __init__(self, var: Path) -> None:
        environment = {
            **worker_environment(),
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "QUARTERDECK_VAR_DIR": str(var),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.slurm.kills.mortal"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, order: dict[str, Any], die: tuple[str, float]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        print(json.dumps({**order, "die": die}), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=30)


@pytest.fixture
def ordeal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ordeal]:
    kept, settings.VAR_DIR = settings.VAR_DIR, tmp_path_factory.mktemp("kills")
    seed = int(os.environ.get("KILLS_SEED") or time.time_ns() % 2**32)
    print(f"\nKILLS_SEED={seed}")
    cast, region = the_cast(), the_region()
    region.provisioner = "sandbox"
    region.save()
    for shape in (FIRST.groups[0].shape, FIRST.groups[1].shape):
        fields = {
            "gpus": shape.gpus,
            "cpus": shape.cpus,
            "memory_mib": shape.memory_mib,
            "gpu_model": shape.gpu_model,
        }
        region.plans.filter(slug=shape.plan).update(**fields)
    Image.objects.get_or_create(
        slug=NEW_IMAGE[0], defaults={"name": "Slurm 26.05", "slurm_version": NEW_IMAGE[1], "source": "sid"}
    )
    Offer.objects.create(region=region, slug="standard", name="Standard", kind=VolumeKind.SFS)
    volume = volumes.create(cast.team, volumes.Wish("shared", region.slug, "standard", 10), by=cast.ada)
    tending.tend(volume)
    worker = Worker(settings.VAR_DIR)
    made = Ordeal(cast, region, Random(seed), Mount(volume.key, "shared", "/shared"), worker)
    try:
        yield made
    finally:
        worker.close()
        made.clear()
        settings.VAR_DIR = kept


def lives(dice: Random, each: int) -> Iterator[str]:
    """Acts without end: a life of `each` acts between the cluster's creation and its end, all of them in turn."""
    deck: list[str] = []
    yield CREATE
    while True:
        for _ in range(each):
            deck = deck or dice.sample(IN_LIFE, len(IN_LIFE))
            yield deck.pop()
        yield TERMINATE
        yield CLONE


@pytest.mark.parametrize(("kills", "each"), [(8, 5), pytest.param(200, 16, marks=pytest.mark.long)])
def test_whoever_is_killed_the_next_brings_the_old_state_or_the_new(
    ordeal: Ordeal, kills: int, each: int
) -> None:
    began = time.monotonic()
    for act in lives(ordeal.dice, each):
        if sum(ordeal.struck.values()) >= kills:
            break
        ordeal.strike(act)
    print(
        f"{sum(ordeal.struck.values())} kills, {ordeal.missed} came too late, in {time.monotonic() - began:.0f} s: "
        f"{dict(sorted(ordeal.struck.items()))}"
    )
    assert ordeal.missed < kills
