"""The place where one cluster lives: its region's API, its names there, and what can be read of it.

Blocking; raises what `slurm.kube.client` raises. Connects late: making a Site asks nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from clusters.observation import JobSeen
from clusters.provisioner import ClusterRef, Executor
from clusters.spec import ClusterSpec
from console.errors import ConsoleError
from slurm.client import Slurm
from slurm.executors.pod import PodExecutor
from slurm.kube.client import Kube
from slurm.kube.kinds import SLINKY_GROUP, Thing
from slurm.provisioners.slinky.crash import CONTAINER, crash_of
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.events import warnings_in
from slurm.provisioners.slinky.hearing import read_running
from slurm.provisioners.slinky.likeness import unlike
from slurm.provisioners.slinky.look import Look, must_nudge
from slurm.provisioners.slinky.names import Names, names_of
from slurm.provisioners.slinky.order import Round, forgot_its_nodes, next_round
from slurm.provisioners.slinky.pods import Worker, is_ready, name_of
from slurm.provisioners.slinky.region import RegionSettings, settings_of
from slurm.provisioners.slinky.region_kube import kube_of
from slurm.provisioners.slinky.region_mirror import mirror_of
from slurm.provisioners.slinky.render import render
from slurm.provisioners.slinky.restarts import restarts_in
from slurm.provisioners.slinky.running import Running, Silence, hosts_in, named_nodes
from slurm.provisioners.slinky.scene import Reads, Scene, read_scene, with_machines
from slurm.provisioners.slinky.sight import controller_problem
from slurm.provisioners.slinky.stages import Stage, Standing, coming, stage_of

LOG_LINES = 40


@dataclass(frozen=True)
class Site:
    ref: ClusterRef

    @cached_property
    def settings(self) -> RegionSettings:
        return settings_of(self.ref.region)

    @cached_property
    def names(self) -> Names:
        return names_of(self.ref, self.settings.namespace_prefix)

    @property
    def kube(self) -> Kube:
        return kube_of(self.ref.region_slug, self.settings)

    @property
    def executor(self) -> Executor:
        return PodExecutor(self.kube, self.names.namespace, self.names.controller_pod, CONTAINER)

    @property
    def slurm(self) -> Slurm:
        return Slurm(self.executor)

    def scene(self) -> Scene:
        """As it is now: a dozen requests."""
        return read_scene(self.kube, self.names)

    @property
    def mirror(self) -> Reads:
        return mirror_of(self.ref.region_slug, self.settings)

    def sight(self) -> Scene:
        """As it was a moment ago, its machines too: no request, however often it is asked."""
        return with_machines(read_scene(self.mirror, self.names), self.mirror)

    def log(self) -> tuple[str, ...]:
        """The controller's last lines, of its run before this one too; empty where they cannot be had."""
        lines: list[str] = []
        for previous in (True, False):
            try:
                text = self.kube.log(
                    self.names.namespace,
                    self.names.controller_pod,
                    CONTAINER,
                    lines=LOG_LINES,
                    previous=previous,
                )
            except ConsoleError:
                continue
            lines += text.splitlines()
        return tuple(lines)


def look_at(site: Site, spec: ClusterSpec) -> Look:
    """Everything that an apply or a verdict goes by. About a dozen requests and five commands in the controller's pod.

    Raises Unavailable when the API does not answer; a controller that does not is part of the answer.
    """
    scene, now = site.scene(), datetime.now(UTC)
    warned = warnings_in(scene.events, site.names, now)
    heard = _ask_controller(site, scene)
    crash = crash_of(scene)
    log = site.log() if crash else ()
    standing = standing_of(scene, heard, is_blank=crash is not None and forgot_its_nodes(log))
    stage = stage_of(spec, standing)
    look = Look(spec, scene, standing, stage, crash, log, heard, warned, now)
    found = round_of(site, look)
    return replace(look, due=tuple(due(look, found.things)), held=found.waits_for)


def _ask_controller(site: Site, scene: Scene) -> Running | Silence:
    pod = scene.controller_pod
    if pod is None or not is_ready(pod):
        return Silence(controller_problem(scene, ()))
    return read_running(site.executor)


def standing_of(scene: Scene, heard: Running | Silence, *, is_blank: bool = False) -> Standing:
    workers: dict[str, list[Worker]] = {}
    for worker in scene.workers:
        workers.setdefault(scene.group_of(worker.node_set), []).append(worker)
    written = str(scene.controller["spec"].get("extraConf") or "") if scene.controller else ""
    return Standing(
        workers={group: tuple(found) for group, found in workers.items()},
        replicas=scene.replicas(),
        nodes=heard.nodes if isinstance(heard, Running) else None,
        named=named_nodes(heard, written),
        written=hosts_in(written),
        is_blank=is_blank,
        remembered=_partitions_of(heard.jobs) if isinstance(heard, Running) else frozenset(),
    )


def _partitions_of(jobs: Iterable[JobSeen]) -> frozenset[str]:
    """A waiting job may name several."""
    return frozenset(name for job in jobs for name in job.partition.split(","))


def round_of(site: Site, look: Look) -> Round:
    """What is to be applied now, in the order of creation: the spec's objects as this stage has them."""
    design = Design(
        spec=look.spec,
        names=site.names,
        ref=site.ref,
        settings=site.settings,
        restarts=restarts_in(look.scene.resources, site.names),
        known=look.stage.known,
        replicas=look.stage.replicas,
        lingering=look.stage.lingering,
    )
    return next_round(render(design), look.scene.resources, look.scene.workloads, site.names)


def due(look: Look, wanted: tuple[Thing, ...]) -> list[str]:
    """What an apply would write now, a sentence each: the present stage is over, or was never applied."""
    live = {(thing["kind"], name_of(thing)): thing for thing in look.scene.resources}
    ours = [thing for thing in wanted if thing["apiVersion"].startswith(SLINKY_GROUP)]
    sentences = [_missing(thing) for thing in ours if (thing["kind"], name_of(thing)) not in live]
    for thing in wanted:
        if found := live.get((thing["kind"], name_of(thing))):
            sentences += _differences(thing, found, look)
    if must_nudge(look):
        sentences.append("The controller's pod is told to fetch its new slurm.conf.")
    return [*sentences, *_deeds(look.stage)]


def _missing(thing: Thing) -> str:
    return f"{thing['kind']} {name_of(thing)} is not there."


def _differences(wanted: Thing, found: Thing, look: Look) -> list[str]:
    """A partition gets its new nodes all at once: while some are to come, slurm.conf is left as it is."""
    paths = [path for path, _wanted, _found in unlike(wanted, found)]
    if coming(look.spec, look.standing) and not look.standing.is_blank:
        paths = [path for path in paths if path != "spec.extraConf"]
    return [f"{wanted['kind']} {name_of(wanted)} has another {path.removeprefix('spec.')}." for path in paths]


def _deeds(stage: Stage) -> list[str]:
    deeds: Mapping[str, object] = {
        f"{', '.join(stage.closing)} still takes jobs and is to go.": stage.closing,
        "The workers that are to go have to be marked.": stage.costs,
        f"Slurm still has records of {', '.join(stage.forgotten)}.": stage.forgotten,
        f"{', '.join(stage.freed)} can take jobs again.": stage.freed,
        f"{', '.join(stage.shrunk)} is no longer wanted.": stage.shrunk,
        f"{', '.join(stage.unneeded)} has no workers left.": stage.unneeded,
    }
    return [sentence for sentence, is_due in deeds.items() if is_due]
