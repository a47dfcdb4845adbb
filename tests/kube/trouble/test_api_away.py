"""The API server away in each step of a change: refusing connections, or swallowing them.

The rig's programs die with the thread that started them, so the API is stopped and started in the thread that carries
the change: as a step begins, and between two looks.
"""

import time
from collections.abc import Callable

import pytest

from clusters import changes, run
from clusters.effects import EFFECTS, Work
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus, Effect, Outcome
from clusters.models import Change
from clusters.watch import watch_once
from slurm.provisioners.slinky.adapter import Slinky
from tests.clusters.polling import until
from tests.kube.trouble.ground import SPEC, Ground, limited, said

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(240, func_only=True)]
S = ChangeStatus
A_MINUTE_S = 60
FATAL = "SchedulerType=sched/nonsense"


class Outage:
    """Begins with the first call of each of these effects, and ends after as many fruitless tries, and as many
    seconds, as told."""

    def __init__(
        self, ground: Ground, steps: set[Effect], tries: int, *, hangs: bool = False, lasts_s: float = 0
    ) -> None:
        rig = ground.rig
        self.begin, self.end = (rig.pause, rig.resume) if hangs else (rig.stop_api, rig.start_api)
        self.due, self.tries, self.lasts_s = set(steps), tries, lasts_s
        self.left, self.until = 0, 0.0
        self.met: list[Effect] = []

    def around(self, effect: Effect, act: Callable[[Work], Outcome]) -> Callable[[Work], Outcome]:
        def perform(work: Work) -> Outcome:
            if effect in self.due and not self.left:
                self.due.remove(effect)
                self.met.append(effect)
                self.left = self.tries
                self.until = time.monotonic() + self.lasts_s
                self.begin()
            return act(work)

        return perform

    def tried(self, change: Change) -> None:
        if self.left > 1:
            self.left -= 1
        elif self.left and time.monotonic() >= self.until:
            self.over()

    def over(self) -> None:
        if self.left:
            self.left = 0
            self.end()


@pytest.fixture
def outage(ground: Ground, monkeypatch):
    """Makes one; whatever the test meets, the API is there again afterwards."""
    made: list[Outage] = []

    def make(*steps: Effect, tries: int = 3, hangs: bool = False, lasts_s: float = 0) -> Outage:
        made.append(Outage(ground, set(steps), tries, hangs=hangs, lasts_s=lasts_s))
        monkeypatch.setattr(run, "EFFECTS", {e: made[0].around(e, act) for e, act in EFFECTS.items()})
        return made[0]

    yield make
    for each in made:
        each.over()


def test_a_change_commits_though_the_api_was_away_in_every_step(ground: Ground, outage):
    job = ground.a_job_on("slinky-1")
    away = outage(Effect.CHECK, Effect.APPLY, Effect.OBSERVE)
    change = ground.edit(limited(75), away.tried)
    assert away.met == [Effect.CHECK, Effect.APPLY, Effect.OBSERVE]
    assert change.status == S.COMMITTED, said(change)
    assert "nothing listens at" in said(change)
    assert "MaxTime=01:15:00" in ground.ask("scontrol", "show", "partition", "debug")
    assert ground.job_state(job) == "RUNNING"
    ground.end_job(job)


def test_a_change_is_rolled_back_though_the_api_was_away_meanwhile(ground: Ground, outage, monkeypatch):
    monkeypatch.setattr(Slinky, "check", lambda self, spec, shadow=True: ())
    away = outage(Effect.RESTORE, Effect.CONFIRM)
    change = ground.edit(SPEC.with_slurm_conf(f"{SPEC.slurm_conf}{FATAL}\n"), away.tried)
    assert away.met == [Effect.RESTORE, Effect.CONFIRM]
    assert change.status == S.ROLLED_BACK, said(change)
    assert ground.cluster.provisioner.judge(SPEC).verdict == "done"


@pytest.mark.parametrize("step", [Effect.CHECK, Effect.APPLY, Effect.OBSERVE])
def test_a_minute_without_the_api_delays_a_change_and_no_more(ground: Ground, outage, step: Effect):
    minutes = {Effect.CHECK: 61, Effect.APPLY: 62, Effect.OBSERVE: 63}[step]
    away = outage(step, lasts_s=A_MINUTE_S)
    began = time.monotonic()
    change = ground.edit(limited(minutes), away.tried)
    assert away.met == [step] and time.monotonic() - began >= A_MINUTE_S
    assert change.status == S.COMMITTED, said(change)
    assert f"MaxTime=01:0{minutes - 60}:00" in ground.ask("scontrol", "show", "partition", "debug")


@pytest.mark.parametrize("step", [Effect.RESTORE, Effect.CONFIRM])
def test_a_minute_without_the_api_delays_the_way_back_and_no_more(
    ground: Ground, outage, monkeypatch, step: Effect
):
    monkeypatch.setattr(Slinky, "check", lambda self, spec, shadow=True: ())
    away = outage(step, lasts_s=A_MINUTE_S)
    change = ground.edit(SPEC.with_slurm_conf(f"{SPEC.slurm_conf}{FATAL}\n"), away.tried)
    assert away.met == [step]
    assert change.status == S.ROLLED_BACK, said(change)
    assert ground.cluster.provisioner.judge(SPEC).verdict == "done"


def test_a_minute_without_the_api_delays_a_termination_and_no_more(ground: Ground, outage):
    away = outage(Effect.END, lasts_s=A_MINUTE_S)
    change = ground.carry(changes.terminate(ground.cluster, by=ground.cast.ada), away.tried)
    assert away.met == [Effect.END]
    assert change.status == S.COMMITTED, said(change)
    assert ground.cluster.status == Status.TERMINATED


def test_an_api_that_hangs_for_a_long_while_costs_time_and_nothing_else(ground: Ground, outage):
    """Each request waits for its whole limit, so this lasts for half a minute."""
    away = outage(Effect.OBSERVE, tries=3, hangs=True)
    change = ground.edit(limited(80), away.tried)
    assert away.met == [Effect.OBSERVE]
    assert change.status == S.COMMITTED, said(change)
    assert "did not answer within" in said(change)


def test_the_page_keeps_what_was_seen_last_and_says_why_it_is_old(ground: Ground):
    cluster = ground.cluster
    watch_once(cluster)
    assert cluster.observed_problem == ""
    before, seen_at = set(cluster.nodes.values_list("name", "state")), cluster.observed_at
    with ground.rig.away():
        watch_once(cluster)
        assert "nothing listens at" in cluster.observed_problem
        assert set(cluster.nodes.values_list("name", "state")) == before and before
        assert cluster.observed_at == seen_at
    assert until(lambda: not watch_once(cluster).problem, 20), cluster.observed_problem
    assert cluster.observed_problem == "" and cluster.observed_at > seen_at
