"""A controller that ends as soon as it is started: whether its present configuration is to blame, and what it said.
Pure.

The pod's file follows the ConfigMap with a delay of up to two minutes, and a pod that fell over under the old file may
go on being restarted with it, more and more slowly. So only an end that must have been met with the present file is
evidence against it; for any other the pod is made anew, which gives it the present file at once. Kubernetes tells times
by the second: within the same one nobody knows what came first, and nothing is evidence.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.pods import CRASH, is_ready, parse_moment, tidy, waiting_reason
from slurm.provisioners.slinky.scene import Scene
from slurm.refusals import problems_in

CONTAINER = "slurmctld"
# One that dies of its file does so within moments; one that ran for longer took it.
RAN_WELL = timedelta(seconds=15)
# Without accounting the controller of a new cluster starts a few times in vain: that is no fault of its file.
_WAITS_FOR_ACCOUNTING = ("slurmdbd", "accounting_storage", "database", "no assoc")


@dataclass(frozen=True)
class Ended:
    """How a daemon ended: what `slurm.refusals` asks for."""

    code: int | None
    lines: tuple[str, ...]

    @property
    def is_success(self) -> bool:
        return self.code == 0


@dataclass(frozen=True)
class Crash:
    """The controller's last end. `by_this_file` says that it must have read the present configuration."""

    code: int
    by_this_file: bool


def crash_of(scene: Scene) -> Crash | None:
    """None while the controller runs, or has never ended."""
    pod = scene.controller_pod
    if pod is None or is_ready(pod):
        return None
    status = _status(pod)
    now, before = status.get("state") or {}, status.get("lastState") or {}
    ended: Mapping[str, Any] | None = now.get("terminated") or before.get("terminated")
    if not ended or int(ended.get("exitCode", 0)) == 0:
        return None
    if waiting_reason(pod, CONTAINER) != CRASH and not now.get("terminated"):
        return None
    return Crash(int(ended["exitCode"]), _by_this_file(pod, ended, conf_changed_at(scene)))


def _by_this_file(pod: Thing, ended: Mapping[str, Any], changed: datetime | None) -> bool:
    made = parse_moment(str(pod["metadata"].get("creationTimestamp") or ""))
    began, over = (parse_moment(str(ended.get(key) or "")) for key in ("startedAt", "finishedAt"))
    if changed is None or made is None or made > changed:
        return True
    return bool(began and over and began < changed < over and over - began > RAN_WELL)


def conf_changed_at(scene: Scene) -> datetime | None:
    """When the operator last wrote slurm.conf, by the managed fields of its ConfigMap."""
    fields = scene.running_conf["metadata"].get("managedFields") or [] if scene.running_conf else []
    moments = [at for entry in fields if (at := parse_moment(str(entry.get("time") or "")))]
    return max(moments, default=None)


def crash_words(log: Iterable[str], conf: str, crash: Crash) -> str:
    """Why, in a sentence, of the last lines that the controller wrote; empty when accounting is what it lacks."""
    lines = tuple(log)
    telling = [line for line in lines if "fatal" in line] or lines[-1:]
    if telling and all(any(word in line.lower() for word in _WAITS_FOR_ACCOUNTING) for line in telling):
        return ""
    found = list(problems_in(Ended(crash.code, lines), conf, path="slurm_conf", daemon="slurmctld"))
    blocking = [problem.message for problem in found if problem.blocking]
    said = blocking[0] if blocking else tidy(" ".join(lines[-3:])) or "it said nothing"
    return f"The controller does not live with this configuration: {said}".rstrip(".") + "."


def _status(pod: Thing) -> Mapping[str, Any]:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return next((status for status in statuses if status.get("name") == CONTAINER), {})
