"""Slinky behind the `Provisioner` port: a cluster as custom resources of slurm-operator in a region's API.

Nothing is kept here: what the cluster is stands in the API and in its controller, so any process may hold an adapter,
and one that was killed goes on where things stand. Connects late, and only where a method says that it blocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from clusters.acts import Act, Edit, Touch
from clusters.observation import Judgement, Observation
from clusters.provisioner import ClusterRef, Executor, Home, LoginEndpoint, Say
from clusters.spec import ClusterSpec
from console.errors import ConsoleError, Problem
from slurm.checks.conf import check_conf
from slurm.client import Slurm
from slurm.homes import homes_by
from slurm.observe import observe_slurm
from slurm.provisioners.slinky.apply import apply_spec
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.drift import drift_of, noted
from slurm.provisioners.slinky.ending import destroy_cluster, terminate_cluster
from slurm.provisioners.slinky.endpoint import login_endpoint, login_executor, worker_executor
from slurm.provisioners.slinky.events import Warned, warnings_in
from slurm.provisioners.slinky.foresight import foresee
from slurm.provisioners.slinky.reboots import reboots_in
from slurm.provisioners.slinky.render import files, render
from slurm.provisioners.slinky.restart import continue_reboots, has_reboots, restart_part
from slurm.provisioners.slinky.scene import Scene
from slurm.provisioners.slinky.shadow import shadow_check
from slurm.provisioners.slinky.sight import controller_problem, machine_state_of, machines_of, parts_of
from slurm.provisioners.slinky.site import Site, look_at
from slurm.provisioners.slinky.verdict import verdict_of
from slurm.resuming import resume_drained


class Slinky:
    """One cluster in a namespace of its team."""

    def __init__(self, ref: ClusterRef) -> None:
        self.ref = ref
        self.site = Site(ref)

    # What it should be

    def render(self, spec: ClusterSpec) -> Mapping[str, str]:
        return files(self._design(spec))

    def foresee(self, act: Act) -> tuple[Touch, ...]:
        specs = (act.before, act.after) if isinstance(act, Edit) else ()
        before, after = [render(self._design(spec)) for spec in specs] or ((), ())
        return foresee(act, before, after, self.site.names)

    def check(self, spec: ClusterSpec, *, shadow: bool = True) -> tuple[Problem, ...]:
        problems = check_conf(spec.slurm_conf, version=spec.slurm_version, node_names=spec.node_names)
        if not shadow or any(problem.blocking for problem in problems):
            return problems
        return (*problems, *shadow_check(self.site, spec))

    def _design(self, spec: ClusterSpec) -> Design:
        return Design(spec, self.site.names, self.ref, self.site.settings)

    # Making it so

    def apply(self, spec: ClusterSpec, say: Say, *, force: bool = False) -> None:
        apply_spec(self.site, spec, say, force=force)

    def judge(self, spec: ClusterSpec) -> Judgement:
        return verdict_of(look_at(self.site, spec))

    # What it is

    def observe(self) -> Observation:
        now = datetime.now(UTC)
        try:
            scene = self.site.sight()
        except ConsoleError as error:
            return Observation(now, problem=error.message)
        if not scene.is_there:
            return Observation(
                now, problem=f"Nothing of {self.ref.name} runs in {self.site.names.namespace}."
            )
        warned = warnings_in(scene.events, self.site.names, now)
        if problem := controller_problem(scene, warned):
            return Observation(now, parts_of(scene, warned), problem=problem, drift=self._drift(scene))
        return self._with_slurm(scene, warned)

    def _with_slurm(self, scene: Scene, warned: tuple[Warned, ...]) -> Observation:
        slurm = Slurm(self.site.executor, remember=self.ref.key)
        seen = observe_slurm(slurm, machines_of(scene), machine_state_of(scene))
        reboots = {found.node: found.next.value for found in reboots_in(seen.nodes or (), scene.worker_pods)}
        parts = parts_of(scene, warned, reboots)
        return replace(seen, parts=parts, drift=self._drift(scene), unfinished=bool(reboots))

    def _drift(self, scene: Scene) -> str:
        return drift_of(noted(scene.note), scene.resources)

    def revive(self) -> tuple[str, ...]:
        """The operator and Kubernetes start again what ends; what is left are restarts that wait for their jobs.

        In a large cluster some part is nearly always down, so the API itself is asked only for such a restart.
        """
        seen = self.site.sight()
        if controller_problem(seen, ()) or not has_reboots(self.site, seen):
            return ()
        return continue_reboots(self.site, self.site.scene())

    def login(self) -> LoginEndpoint:
        return login_endpoint(self.site)

    def homes(self) -> tuple[Home, ...]:
        return homes_by(login_executor(self.site))

    def executor(self, login: str = "") -> Executor:
        return self.site.executor

    def login_executor(self) -> Executor:
        return login_executor(self.site)

    def node_executor(self, node: str) -> Executor:
        return worker_executor(self.site, node)

    # Restarting and ending it

    def restart(self, part: str, say: Say, *, when_idle: bool = False) -> None:
        restart_part(self.site, part, say, when_idle=when_idle)

    def drain(self, nodes: Sequence[str], reason: str) -> None:
        self.site.slurm.drain(nodes, reason)

    def resume(self, nodes: Sequence[str]) -> None:
        resume_drained(self.site.slurm, nodes)

    def terminate(self, say: Say) -> None:
        terminate_cluster(self.site, say)

    def destroy(self, say: Say) -> None:
        destroy_cluster(self.site, say)
