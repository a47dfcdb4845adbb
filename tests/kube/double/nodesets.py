"""What the operator does for one NodeSet: pods made and removed, rollouts, and what stays left as it should be."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from console.errors import Unavailable
from slurm.kube.kinds import Thing
from tests.kube.double import workers
from tests.kube.double.choice import is_cordoned, is_going, is_ready, ordinal_of, to_remove
from tests.kube.double.hands import Hands
from tests.kube.double.kinds import REVISION
from tests.kube.double.mirror import mirror
from tests.kube.double.parts import owner
from tests.kube.double.pool import Memory, Pool, name_of
from tests.kube.double.slurm_side import SlurmSide
from tests.kube.double.switches import Switches

SCALE_IN = "{}Pod ({}/{}) is pending termination for scale-in"
UPDATE = "{}Pod ({}/{}) is pending termination for update"
CORDONED = "{}Pod ({}/{}) has been cordoned"
# v1.2.1 was seen to move its choice on a later reconcile, not at once.
RECHECK_S = 2.0
# A pod whose slurmd runs for so long and is not in Slurm is taken for unregistered.
REGISTER_S, REFUSED_S = 20.0, 0.5


@dataclass(frozen=True)
class NodeSets:
    """`slurm` is None where the cluster has no RestApi. One look is for one thread."""

    hands: Hands
    switches: Switches
    slurm: SlurmSide | None
    memory: Callable[[str], Memory]

    def look(self, node_set: Thing, slurm_key: dict[str, str]) -> bool:
        """One reconcile; whether another one is due soon. Raises `Unavailable` when slurmrestd does not answer.

        v1.2.1 was seen to return at once for a NodeSet that is being deleted: nothing is drained.
        """
        if is_going(node_set):
            return False
        nodes = self.slurm.nodes() if self.slurm else None
        memory = self.memory(node_set["metadata"]["uid"])
        pool = Pool(self.hands, self.switches, self.slurm, node_set, slurm_key, memory, nodes)
        _keep_revision(pool)
        _drop_unregistered(pool)
        going = _scale(pool)
        going |= _roll(pool, going)
        for pod in pool.live:
            if name_of(pod) not in going:
                _let_be(pool, pod)
        mirror(pool)
        return pool.again


def frozen(hands: Hands, node_set: Thing, why: Unavailable) -> None:
    """v1.2.1 was seen to stop at its first step while slurmrestd does not answer: an event, no status, no pod."""
    words = f"Failed in syncFinalizer: {why.message}"
    hands.event(node_set, "Warning", "SyncFinalizerFailed", words, "Sync")


def _keep_revision(pool: Pool) -> None:
    spec = {key: pool.node_set["spec"][key] for key in workers.HASHED if key in pool.node_set["spec"]}
    name = f"{pool.name}-{pool.hash}"
    metadata = {
        "name": name,
        "namespace": pool.namespace,
        "labels": {workers.HASH: pool.hash},
        "ownerReferences": [owner(pool.node_set)],
    }
    if pool.hands.store.find(REVISION, pool.namespace, name) is None:
        head = {"apiVersion": REVISION.api_version, "kind": REVISION.name, "metadata": metadata}
        pool.hands.create({**head, "data": {"spec": spec}, "revision": 1})


def _drop_unregistered(pool: Pool) -> None:
    """v1.2.1 was seen to delete and recreate a healthy pod whose node is not in Slurm, about once a second, for ever.

    Here a slurmd gets some seconds first, because kwok calls every pod healthy at once.
    """
    if pool.nodes is None:
        return
    now, since = time.monotonic(), pool.memory.ready_since
    for pod in pool.live:
        uid, host = pod["metadata"]["uid"], workers.host_name(pod)
        begun = since.setdefault(uid, now)
        if not is_ready(pod) or host in pool.nodes:
            since[uid] = now
            continue
        pool.again = True
        if now - begun >= (REFUSED_S if pool.switches.is_unregistered(host) else REGISTER_S):
            words = f"Deleting Pod {pool.namespace}/{name_of(pod)}: Slurm node is not registered but pod is healthy"
            pool.say("SlurmNodeNotRegistered", words, "Delete", "Warning")
            pool.delete(pod)


# Scaling


def _scale(pool: Pool) -> set[str]:
    """Brings the number of pods about; returns those on their way out."""
    if len(pool.pods) < pool.desired:
        _create(pool, pool.desired - len(pool.pods))
    live = pool.live
    surplus = len(live) - pool.desired
    if surplus <= 0:
        pool.memory.chosen = ()
        return set()
    chosen = _chosen(pool, live, surplus)
    for pod in chosen:
        pool.retire(pod, SCALE_IN)
    return {name_of(pod) for pod in chosen}


def _create(pool: Pool, count: int) -> None:
    """Free ordinals are used again, the lowest first; a pod that is still going keeps its own."""
    if pool.switches.no_pods:
        words = "Error creating: pods is forbidden: exceeded quota: no-pods"
        pool.say("FailedCreate", words, "Create", "Warning")
        pool.again = True
        return
    taken = {ordinal_of(pod) for pod in pool.pods}
    free = [ordinal for ordinal in range(len(taken) + count) if ordinal not in taken]
    pool.say("ScalingUp", f"Creating {count} Pod(s) to stabilize at {pool.desired} replicas", "ScaleUp")
    for ordinal in free[:count]:
        pool.create(ordinal)


def _chosen(pool: Pool, live: list[Thing], surplus: int) -> list[Thing]:
    """Judged anew on later reconciles, so the choice may move."""
    now, memory = time.monotonic(), pool.memory
    pool.again = True
    before = [pod for pod in live if name_of(pod) in memory.chosen]
    if len(before) == surplus and now < memory.chosen_at + RECHECK_S:
        return before
    words = f"Deleting {surplus} Pod(s) to stabilize at {pool.desired} replicas"
    pool.say("ScalingDown", words, "ScaleDown")
    chosen = to_remove(live, surplus)
    memory.chosen, memory.chosen_at = tuple(name_of(pod) for pod in chosen), now
    return chosen


# Rollouts


def _roll(pool: Pool, going: set[str]) -> set[str]:
    """Old pods that are not ready go at once, then as many healthy ones as may be missing. With OnDelete, nothing."""
    old = [pod for pod in pool.live if pool.is_old(pod) and name_of(pod) not in going]
    if not old or not pool.rolls:
        return set()
    pool.again = True
    sick = [pod for pod in old if not is_ready(pod)]
    if sick:
        pool.say(
            "RollingUpdate", f"Rolling update: deleting {len(sick)} unhealthy old pod(s)", "RollingUpdate"
        )
    for pod in sick:
        pool.delete(pod)
    return _replace(pool, [pod for pod in old if pod not in sick])


def _replace(pool: Pool, old: list[Thing]) -> set[str]:
    missing = max(0, pool.desired - sum(is_ready(pod) for pod in pool.live))
    begun = [pod for pod in old if is_cordoned(pod)]
    more = max(0, _most_missing(pool) - missing - len(begun))
    chosen = [*begun, *to_remove((pod for pod in old if not is_cordoned(pod)), more)]
    if len(chosen) > len(begun):
        words = f"Rolling update: replacing {len(chosen)} old pod(s) with updated revision"
        pool.say("RollingUpdate", words, "RollingUpdate")
    for pod in chosen:
        pool.retire(pod, UPDATE)
    return {name_of(pod) for pod in chosen}


def _most_missing(pool: Pool) -> int:
    """v1.2.1 was seen to replace two of two at once where no strategy was given."""
    if not pool.strategy:
        return pool.desired
    most = (pool.strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%")
    if isinstance(most, str):
        most = -(-pool.desired * int(most.rstrip("%")) // 100) if most.endswith("%") else int(most)
    return max(1, int(most))


# What stays


def _let_be(pool: Pool, pod: Thing) -> None:
    """v1.2.1 was seen to take a pod-cordon by hand away within 3 s under RollingUpdate and to have the node idle again:
    what stays and is up to date is undrained where the reason is the operator's own."""
    node, cordoned = pool.node(pod), is_cordoned(pod)
    if cordoned and not pool.rolls:
        if node and "DRAIN" not in node.states:
            pool.drain(pod, node, CORDONED)
        return
    if cordoned and pool.is_old(pod):
        return
    if cordoned:
        pool.hands.annotate(pod, **{workers.CORDON: None})
    pool.undrain(pod)
