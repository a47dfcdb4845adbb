"""Which scripts each worker really has: the init script that it started with, and the prolog and epilog in its copy of
the configuration. As the watcher last saw them; asks no cluster.
"""

from dataclasses import dataclass

from clusters.life_scripts import Hook, script_of, version_of
from clusters.models import Cluster
from clusters.observation import PartState

# By the fields of `clusters.observation.Part`.
FIELDS = {Hook.WORKER_INIT: "init", Hook.WORKER_PROLOG: "prolog", Hook.WORKER_EPILOG: "epilog"}
OF_WORKERS = tuple(FIELDS)


@dataclass(frozen=True)
class Had:
    """One script of one worker. `version` is empty for none, and None where the platform does not tell."""

    hook: Hook
    version: str | None
    is_current: bool


@dataclass(frozen=True)
class WorkerScripts:
    node: str
    machine: str
    is_up: bool
    scripts: tuple[Had, ...]

    @property
    def is_current(self) -> bool:
        """As far as it is told."""
        return all(had.is_current for had in self.scripts)


def worker_scripts(cluster: Cluster) -> tuple[WorkerScripts, ...]:
    """In the order of the cluster's parts. One query."""
    machines = dict(cluster.nodes.values_list("name", "machine"))
    wanted = {hook: version_of(script_of(cluster.spec.scripts, hook)) for hook in OF_WORKERS}
    return tuple(
        WorkerScripts(
            part["name"],
            machines.get(part["name"], ""),
            part.get("state") == PartState.UP.value,
            tuple(_had(part, hook, current) for hook, current in wanted.items()),
        )
        for part in cluster.parts
        if part.get("kind") == "worker"
    )


def _had(part: dict[str, str | None], hook: Hook, current: str) -> Had:
    version = part.get(FIELDS[hook], "" if hook is Hook.WORKER_INIT else None)
    return Had(hook, version, version is None or version == current)
