"""While a real cluster waits for a job, who was removed is signed out and not let in again; job and wait go on."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import asyncssh
import pytest
from django.db import connections

from clusters import changes
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster
from clusters.spec import ClusterSpec, Leaver, Logins, LoginUser, NodeGroup, to_json
from clusters.watch import watch_once
from tests.clusters.test_run import said
from tests.slurm.truth.stage import BASE, GPU, Stage

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.getuid() != 0, reason="only root has numbers to give to login users"),
]
KEYS = {name: asyncssh.generate_private_key("ssh-ed25519") for name in ("mo", "lin")}


def user(name: str, number: int) -> LoginUser:
    return LoginUser(name, number, keys=(KEYS[name].export_public_key().decode().strip(),))


MO, LIN = user("mo", 20000), user("lin", 20001)
PEOPLED = BASE.with_logins(Logins(on=True, account="research", users=(MO, LIN)))


@pytest.fixture
def peopled(stage: Stage) -> Iterator[Stage]:
    """With mo and lin, and a job on slinky-2."""
    stage.settle(PEOPLED)
    Cluster.objects.update(revision=stage.cluster.revisions.create(number=2, spec=to_json(PEOPLED)))
    stage.runs("slinky-2")
    stage.look()
    yield stage


def connect(stage: Stage, name: str) -> "asyncssh.connect":
    door = stage.sandbox.login()
    trusted = asyncssh.import_known_hosts(f"[{door.host}]:{door.port} {door.host_key}")
    return asyncssh.connect(
        door.host, door.port, username=name, client_keys=[KEYS[name]], known_hosts=trusted, config=None,
        agent_path=None,
    )  # fmt: skip


def may_sign_in(stage: Stage, name: str) -> bool:
    async def try_it() -> bool:
        try:
            async with connect(stage, name) as connection:
                return str((await connection.run("id -un")).stdout).strip() == name
        except asyncssh.PermissionDenied:
            return False

    return asyncio.run(try_it())


def scale_in(stage: Stage) -> Change:
    groups = tuple(NodeGroup("slinky", GPU, (0, 1)) if g.name == "slinky" else g for g in PEOPLED.groups)
    return stage.carry(stage.change(replace(PEOPLED, groups=groups)))


def rolling_restart(stage: Stage) -> Change:
    return stage.carry(
        changes.restart(stage.cluster, ["slinky-2", "slinky-1"], by=stage.cast.ben, at_once=1, when_idle=True)
    )


def signed_out(stage: Stage, name: str, act: Callable[[], Change]) -> Change:
    """What `act` made of the change, once it has ended an open session of theirs."""

    async def talk() -> Change:
        async with connect(stage, name) as connection:
            session = await connection.create_process("sleep 300")
            change = await asyncio.to_thread(act)
            await asyncio.wait_for(session.wait(), 30)
            return change

    return asyncio.run(talk())


@contextmanager
def watched(stage: Stage) -> Iterator[None]:
    """Somebody looks at the cluster meanwhile, as nodes that restart are let back by that."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            watch_once(Cluster.objects.get(pk=stage.cluster.pk))
        connections.close_all()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def without_mo(spec: ClusterSpec) -> ClusterSpec:
    return spec.with_logins(replace(spec.logins, users=(LIN,), leavers=(Leaver("mo", 20000),)))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("begin", [scale_in, rolling_restart])
def test_who_is_removed_while_jobs_are_waited_for_is_out_at_once(
    peopled: Stage, begin: Callable[[Stage], Change]
) -> None:
    change = begin(peopled)
    assert change.rests and "slinky-2" in change.waits_for, said(change)
    assert may_sign_in(peopled, "mo") and may_sign_in(peopled, "lin")

    def remove() -> Change:
        return peopled.carry(peopled.change(without_mo(peopled.spec)))

    taken = signed_out(peopled, "mo", remove)
    assert taken == change and taken.rests and not taken.takes_along, said(taken)
    assert not may_sign_in(peopled, "mo") and may_sign_in(peopled, "lin")
    assert peopled.spec == without_mo(PEOPLED)
    (job,) = peopled.jobs
    assert peopled.state(job) == "RUNNING" and peopled.states()["slinky-2"] == "draining"

    peopled.ask("scancel", job)

    with watched(peopled):
        peopled.until(lambda: not peopled.carry(change).is_live, "the wait is over")
    change.refresh_from_db()
    assert change.status == ChangeStatus.COMMITTED, said(change)
    assert not may_sign_in(peopled, "mo") and peopled.spec.logins.users == (LIN,)
    assert ("slinky-2" in peopled.spec.node_names) is (begin is rolling_restart)
