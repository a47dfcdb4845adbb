"""What a kubelet would report and offer of pods that kwok only pretends to run.

A container whose daemon dies again and again waits in CrashLoopBackOff, one whose image cannot be pulled in
ImagePullBackOff (its pod stays in phase Running: kwok starts whatever is Pending). `pods/exec`, `pods/log` and
`pods/portforward` are led to the room by kwok's own objects of the pod's name, which go with it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slurm.kube.kinds import Kind, Thing
from slurm.provisioners.sandbox.space import DaemonState, Keeping
from tests.kube.double import workers
from tests.kube.double.hands import Hands
from tests.kube.double.kinds import EXEC, LOGS, PORT_FORWARD
from tests.kube.double.room import LOGIN_DIR
from tests.kube.double.scene import COMPONENT

DAEMONS = {"controller": "slurmctld", "accounting": "slurmdbd", "login": "sshd"}
ENTER = "QUARTERDECK_ENTER"
PULL = 'Back-off pulling image "{}": ErrImagePull: not found'
CRASH = "back-off 10s restarting failed container={} pod={}_{}"


def daemon_of(pod: Thing) -> str:
    """The daemon behind a pod's main container; empty where there is none."""
    component = pod["metadata"]["labels"][COMPONENT]
    return f"slurmd-{workers.host_name(pod)}" if component == "worker" else DAEMONS.get(component, "")


def is_crashing(daemon: DaemonState | None) -> bool:
    return daemon is not None and daemon.state == "backing off"


def report(hands: Hands, pod: Thing, keeping: Keeping | None, held: bool, restarts: int) -> None:
    """Patch the pod's status where it is not as a kubelet would have it. `restarts` are those before the daemon's
    own."""
    if (pod.get("status") or {}).get("phase") != "Running" or pod["metadata"].get("deletionTimestamp"):
        return
    daemon = keeping.daemon(daemon_of(pod)) if keeping else None
    wanted = _container_status(pod, daemon, held, restarts)
    known = (pod["status"].get("containerStatuses") or [{}])[0]
    if all(known.get(key) == wanted[key] for key in ("ready", "restartCount")) and _same(known, wanted):
        return
    if held:
        _say_pull(hands, pod)
    conditions = [_with_readiness(each, wanted["ready"]) for each in pod["status"].get("conditions") or ()]
    others = (pod["status"].get("containerStatuses") or [])[1:]
    status = {"containerStatuses": [{**known, **wanted}, *others], "conditions": conditions}
    version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
    hands.change(pod, {"metadata": version, "status": status}, "status")


def _same(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """The kind of state, and the reason for waiting."""
    now, then = known.get("state") or {}, wanted["state"]
    return set(now) == set(then) and (now.get("waiting") or {}).get("reason") == (
        then.get("waiting") or {}
    ).get("reason")


def _container_status(pod: Thing, daemon: DaemonState | None, held: bool, restarts: int) -> dict[str, Any]:
    container, about = pod["spec"]["containers"][0], pod["metadata"]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    count = restarts + (daemon.restarts if daemon else 0)
    if held:
        waiting = {"reason": "ImagePullBackOff", "message": PULL.format(container["image"])}
        return {"ready": False, "restartCount": count, "started": False, "state": {"waiting": waiting}}
    if is_crashing(daemon):
        waiting = {
            "reason": "CrashLoopBackOff",
            "message": CRASH.format(container["name"], about["name"], about["namespace"]),
        }
        ended = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}}
        state = {"state": {"waiting": waiting}, "lastState": ended}
        return {"ready": False, "restartCount": count, "started": False, **state}
    running = {"running": {"startedAt": now}}
    return {"ready": True, "restartCount": count, "started": True, "state": running}


def _with_readiness(condition: Mapping[str, Any], ready: bool) -> Mapping[str, Any]:
    if condition["type"] not in ("Ready", "ContainersReady") or (condition["status"] == "True") == ready:
        return condition
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**condition, "status": "True" if ready else "False", "lastTransitionTime": now}


def _say_pull(hands: Hands, pod: Thing) -> None:
    image = pod["spec"]["containers"][0]["image"]
    hands.event(pod, "Warning", "Failed", f'Failed to pull image "{image}": not found', "Pulling")
    hands.event(pod, "Warning", "Failed", "Error: ImagePullBackOff", "Pulling")


# Ways in


def offer(hands: Hands, pod: Thing, enter: Path, log: Path, sshd_port: int, *, open_: bool) -> None:
    """kwok's objects of the pod's name. `open_` is False while its container does not run: no exec then."""
    component = pod["metadata"]["labels"][COMPONENT]
    envs = [{"name": ENTER, "value": str(enter)}]
    if component == "login":
        envs.append({"name": "SLURM_CONF", "value": f"{LOGIN_DIR}/slurm.conf"})
    known = hands.store.find(EXEC, pod["metadata"]["namespace"], pod["metadata"]["name"])
    if open_:
        hands.ensure(pod, of_pod(EXEC, pod, {"execs": [{"local": {"envs": envs}}]}))
    elif known:
        hands.delete(known)
        hands.store.drop(known)
    if component == "login":
        target = {"port": sshd_port, "address": "127.0.0.1"}
        hands.ensure(pod, of_pod(PORT_FORWARD, pod, {"forwards": [{"target": target}]}))
    if component == "controller":
        files = {"logsFile": str(log), "previousLogsFile": str(log), "follow": False}
        hands.ensure(pod, of_pod(LOGS, pod, {"logs": [files]}))


def of_pod(kind: Kind, pod: Thing, spec: Mapping[str, Any]) -> dict[str, Any]:
    """One of kwok's objects, which goes with the pod."""
    about = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": about["name"], "uid": about["uid"]}
    metadata = {"name": about["name"], "namespace": about["namespace"], "ownerReferences": [owner]}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": dict(spec)}
