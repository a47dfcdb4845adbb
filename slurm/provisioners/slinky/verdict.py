"""Whether a Slinky cluster now is what its spec says, from what was read of it. Pure.

The checks stand in the order of a change: what can never become good, what the next stage has to write, and then what
is waited for, each with its reason in words. Nothing here believes that something written is something done.
"""

from collections.abc import Callable
from datetime import timedelta

from clusters.observation import Judgement, NodeSeen, PartState, Verdict
from slurm.drains import OPERATOR
from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.crash import Crash, crash_words
from slurm.provisioners.slinky.events import first_about, frozen_at
from slurm.provisioners.slinky.look import Look, operator_has_conf
from slurm.provisioners.slinky.pods import (
    IMAGE_REASONS,
    annotations,
    name_of,
    parse_moment,
    trouble_of,
    waiting_reason,
    words_for,
)
from slurm.provisioners.slinky.running import NOT_THERE, Silence, our_block, unlike_written
from slurm.provisioners.slinky.scene import Scene, generation_seen
from slurm.provisioners.slinky.sight import FROZEN, SERVICES, is_frozen, owner_of, parts_of
from slurm.provisioners.slinky.stages import (
    coming,
    staying_too_long,
    was_to_go,
)
from slurm.provisioners.slinky.waits import jobs_on, listed, until_jobs_ended
from slurm.readback import unlike_scripts

PULL_FOR = timedelta(seconds=90)
LOST = frozenset({"UNKNOWN", "DOWN", "FUTURE"})
IDLE_OPERATOR = "Is slurm-operator running in this region?"


def verdict_of(look: Look) -> Judgement:
    return next(found for check in CHECKS if (found := check(look)))


def _absent(look: Look) -> Judgement | None:
    if look.scene.controller is None:
        return _waiting(f"{look.spec.name} has not been applied in {look.scene.names.namespace} yet.")
    return None


def _crashed(look: Look) -> Judgement | None:
    crash = look.crash
    if crash is None or look.standing.is_blank or not operator_has_conf(look):
        return None
    if not crash.by_this_file:
        return _again(
            "The controller fell over with its last file; its pod is made anew with the present one."
        )
    words = crash_words(look.log, look.written, crash)
    return Judgement(Verdict.HOPELESS, words) if words else None


def _unreadable(look: Look) -> Judgement | None:
    """The file has come, and Slurm's own commands end of it: the operator's `scontrol reconfigure` would never get as
    far as the controller, which runs on with its last file until it is restarted."""
    if not isinstance(look.heard, Silence) or not look.heard.fatal:
        return None
    if our_block(look.heard.conf) != our_block(look.written):
        return None
    return Judgement(Verdict.HOPELESS, crash_words(look.heard.fatal, look.written, Crash(1, True)))


def _unpullable(look: Look) -> Judgement | None:
    for pod in look.scene.pods:
        reason = waiting_reason(pod)
        made = parse_moment(str(pod["metadata"].get("creationTimestamp") or ""))
        is_old = made is not None and look.now - made > PULL_FOR
        if reason == "InvalidImageName" or (reason in IMAGE_REASONS and is_old):
            return Judgement(
                Verdict.HOPELESS, f"{_capital(words_for(pod))} does not start: {trouble_of(pod)}."
            )
    return None


def _next_stage(look: Look) -> Judgement | None:
    return _again(look.due[0]) if look.due else None


def _services(look: Look) -> Judgement | None:
    """In the order in which they come up. The REST service counts as up once its pod is ready: an event that speaks of
    its silence outlives that, and is said where something waits for it."""
    told = tuple(warning for warning in look.warned if not frozen_at([warning]))
    parts = {part.name: part for part in parts_of(look.scene, told) if part.kind != "worker"}
    for _kind, name, component in SERVICES:
        owner, part = owner_of(look.scene, component), parts.get(name)
        if owner is not None and (part is None or part.state is not PartState.UP):
            return _waiting(_why_not_up(look, name, component, part.detail if part else ""))
        if owner is not None and not _has_followed(look.scene, owner, component):
            return _waiting(f"The operator has not started {name} anew yet. {IDLE_OPERATOR}")
    return None


def _why_not_up(look: Look, name: str, component: str, detail: str) -> str:
    if _child(look.scene, component) is None:
        about = name_of(owner_of(look.scene, component) or {})
        said = first_about(look.told, about)
        return said or f"The operator has made no {name} of this cluster yet. {IDLE_OPERATOR}"
    return f"Waiting for {name}. {detail}".strip()


def _child(scene: Scene, component: str) -> Thing | None:
    return {
        "database": scene.database_set,
        "accounting": scene.accounting_set,
        "controller": scene.controller_set,
        "restapi": scene.rest_deployment,
        "login": scene.login_deployment,
    }[component]


def _has_followed(scene: Scene, owner: Thing, component: str) -> bool:
    """Whether the pods in service are those that the newest template asks for."""
    child = _child(scene, component)
    if child is None or child is owner:
        return True
    wanted = annotations(owner["spec"].get("template") or {})
    has = annotations(child["spec"]["template"])
    return wanted.items() <= has.items() and generation_seen(child) and _is_rolled_out(child)


def _is_rolled_out(child: Thing) -> bool:
    """Of a Deployment or StatefulSet: every pod is of the newest template, and none of the old is left."""
    status = child.get("status") or {}
    replicas = int(status.get("replicas") or 0)
    return replicas > 0 and int(status.get("updatedReplicas") or 0) == replicas


def _configuration(look: Look) -> Judgement | None:
    if our_block(look.heard.conf) != our_block(look.written) and look.heard.conf:
        return _waiting(NOT_THERE)
    if isinstance(look.heard, Silence):
        return _waiting(look.heard.why or "Waiting for the controller to answer.")
    found = next(unlike_written(look.heard, look.written), "")
    scripts = unlike_scripts(look.spec.scripts, look.heard.config)
    return _waiting(found or f"{scripts[0]}.") if found or scripts else None


def _registered(look: Look) -> Judgement | None:
    """Nodes that are to come: each has a pod that is placed, started and registers."""
    new = coming(look.spec, look.standing)
    if not new:
        return None
    said = _idle(look) or next((words for name in new if (words := _why_not_there(look, name))), "")
    return _waiting(f"Waiting for {listed(new)} to register with the controller. {said}".strip())


def _idle(look: Look) -> str:
    """What the operator does not do, if anything."""
    if is_frozen(look.scene, look.warned):
        return FROZEN
    for node_set in look.scene.node_sets:
        if not generation_seen(node_set):
            return f"The operator has not looked at NodeSet {name_of(node_set)} yet. {IDLE_OPERATOR}"
    return ""


def _why_not_there(look: Look, name: str) -> str:
    pod = next((pod for pod in look.scene.pods if words_for(pod) == name), None)
    if pod is not None and (trouble := trouble_of(pod)):
        return f"{name}: {trouble}."
    node_set = look.scene.names.node_set(name.rpartition("-")[0])
    return first_about(look.told, *([name_of(pod)] if pod else []), node_set)


def _gone(look: Look) -> Judgement | None:
    """Nodes that are to go: no fault while jobs run on them, however long."""
    staying = staying_too_long(look.spec, look.standing)
    if not staying:
        return None
    names = [worker.slurm for worker in staying]
    jobs = jobs_on(look.running, names)
    if jobs:
        return Judgement(Verdict.WAITING, until_jobs_ended(names, jobs, staying), patient=True)
    return _waiting(f"Waiting for {listed(names)} to go. {_idle(look)}".strip())


def _rolled_out(look: Look) -> Judgement | None:
    """The workers of each NodeSet are of its newest template, and ready."""
    for node_set in look.scene.node_sets:
        name, status = name_of(node_set), node_set.get("status") or {}
        if not generation_seen(node_set):
            return _waiting(_idle(look))
        wanted = int(node_set["spec"].get("replicas", 1))
        updated, ready = (int(status.get(key) or 0) for key in ("updatedReplicas", "availableReplicas"))
        if updated < wanted and (busy := _busy_old(look, node_set)):
            jobs = jobs_on(look.running, busy)
            return Judgement(
                Verdict.WAITING, f"{listed(busy)}: its pod is renewed when {len(jobs)} jobs ended.", True
            )
        if updated < wanted or ready < wanted:
            return _waiting(
                f"{ready} of {wanted} workers of {look.scene.group_of(name)} are ready. {_slow(look, name)}"
            )
    return None


def _busy_old(look: Look, node_set: Thing) -> list[str]:
    """Workers that the operator drains in order to renew them, and on which jobs still run."""
    mine = {worker.slurm for worker in look.scene.workers if worker.node_set == name_of(node_set)}
    return [
        node.name
        for node in look.standing.nodes or ()
        if node.name in mine and node.reason.startswith(OPERATOR) and node.cpus_allocated
    ]


def _slow(look: Look, node_set: str) -> str:
    for pod in look.scene.pods:
        if any(worker.pod == name_of(pod) and not worker.ready for worker in look.scene.workers):
            return f"{words_for(pod)}: {trouble_of(pod) or 'its pod is not ready'}."
    return first_about(look.told, node_set)


def _fit(look: Look) -> Judgement | None:
    """A node that was down before is no fault of this change; one that only just came is waited for."""
    wanted = set(look.spec.node_names)
    lost = [node.name for node in look.standing.nodes or () if node.name in wanted and _is_lost(node)]
    if lost:
        return _waiting(f"Waiting for {listed(lost)} to answer the controller.")
    kept = [node.name for node in look.standing.nodes or () if node.name in wanted and was_to_go(node)]
    return _waiting(f"Waiting for {listed(kept)} to take jobs again.") if kept else None


def _is_lost(node: NodeSeen) -> bool:
    return node.state.base in LOST and not node.reason


def _held(look: Look) -> Judgement | None:
    return _waiting(f"Waiting for {look.held}.") if look.held else None


def _done(look: Look) -> Judgement:
    return Judgement(Verdict.DONE)


CHECKS: tuple[Callable[[Look], Judgement | None], ...] = (
    _absent,
    _crashed,
    _unreadable,
    _unpullable,
    _next_stage,
    _services,
    _configuration,
    _registered,
    _gone,
    _rolled_out,
    _fit,
    _held,
    _done,
)


def _waiting(why: str) -> Judgement:
    return Judgement(Verdict.WAITING, why)


def _again(why: str) -> Judgement:
    return Judgement(Verdict.APPLY_AGAIN, why)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
