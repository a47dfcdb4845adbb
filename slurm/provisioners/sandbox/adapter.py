"""The sandbox behind the `Provisioner` port: what the rest of Quarterdeck knows of it.

State is in the cluster's directory below `settings.VAR_DIR`, so any process of the same user may hold an adapter.
`spec.json` there is the last spec that was applied, or is being applied for the first time: `observe` and `revive`
go by it.
"""

import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec
from django.conf import settings

from clusters.observation import Judgement, Observation, Verdict
from clusters.provisioner import ClusterRef, Executor, LoginEndpoint, Say
from clusters.spec import ClusterSpec, from_json, to_json
from console.errors import ConsoleError, Missing, Problem, Rejected, Unavailable
from slurm.check import check_conf
from slurm.client import Slurm
from slurm.drains import RESTARTS
from slurm.executors.local import LocalExecutor
from slurm.observe import observe_slurm
from slurm.provisioners.sandbox.apply import apply_files, good_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.daemons import specs_of
from slurm.provisioners.sandbox.departures import (
    are_to_restart,
    continue_restarts,
    judge_departure,
    leaving,
    make_way,
)
from slurm.provisioners.sandbox.epochs import epochs_of, raise_epochs
from slurm.provisioners.sandbox.ghosts import ghosts_of, lay, mark_restarted
from slurm.provisioners.sandbox.images import Image, Tree
from slurm.provisioners.sandbox.keeper import replace_file
from slurm.provisioners.sandbox.layout import complete_files, platform_lines, write_daemons
from slurm.provisioners.sandbox.likeness import image_of, likeness, machine_names
from slurm.provisioners.sandbox.room import remove_directory
from slurm.provisioners.sandbox.shadow import shadow_check
from slurm.provisioners.sandbox.sight import (
    are_starting,
    drift_of,
    is_back,
    machine_state_of,
    news_of,
    parts_of,
    unsettled,
)
from slurm.provisioners.sandbox.space import (
    Keeping,
    command_prefix,
    keeper_pid,
    keeping,
    reload_keeper,
    stop_keeper,
)
from slurm.provisioners.sandbox.start import begin_cluster
from slurm.provisioners.sandbox.tree import build_tree, cached_tree
from slurm.readback import unlike
from slurm.render import RenderedConf, in_user_part, render_conf
from slurm.unread import unread

LOST = frozenset({"UNKNOWN", "DOWN", "FUTURE"})


class Sandbox:
    """One cluster of processes on this machine."""

    def __init__(self, ref: ClusterRef) -> None:
        self.ref = ref
        self.home = Path(settings.VAR_DIR) / "clusters" / ref.key

    # What it should be

    def render(self, spec: ClusterSpec) -> Mapping[str, str]:
        return complete_files(self._like(spec), {"slurm.conf": self.rendered(spec).text})

    def rendered(self, spec: ClusterSpec) -> RenderedConf:
        """The file with the lines that are the user's. Chooses ports the first time."""
        return render_conf(spec, platform_lines(self._like(spec)))

    def check(self, spec: ClusterSpec, *, shadow: bool = True) -> tuple[Problem, ...]:
        problems = check_conf(spec.slurm_conf, version=spec.slurm_version, node_names=spec.node_names)
        if not shadow or any(problem.blocking for problem in problems):
            return problems
        tree = cached_tree(image_of(spec))
        if tree is None:
            return (*problems, unread(f"Slurm {spec.slurm_version} is not unpacked here yet"))
        cluster = likeness(spec, self.ref, self.home, tree)
        conf = self.rendered(spec)
        found = shadow_check(cluster, {"slurm.conf": conf.text})
        return (*problems, *(in_user_part(problem, conf) for problem in found))

    # Making it so

    def apply(self, spec: ClusterSpec, say: Say, *, force: bool = False) -> None:
        tree = build_tree(image_of(spec), say)
        cluster = likeness(spec, self.ref, self.home, tree)
        conf = self.rendered(spec)
        if not good_files(self.home):
            self._remember(spec)
        gone = self._nodes_that_go(spec)
        if not force and keeper_pid(self.home) and not make_way(self._slurm(), gone, spec.node_names, say):
            return
        restart = bool(gone) and tree.release < (23, 11)
        try:
            apply_files(cluster, {"slurm.conf": conf.text}, say, restart=restart)
        except Rejected as refusal:
            problems = tuple(in_user_part(problem, conf) for problem in refusal.problems)
            raise Rejected(refusal.message, problems, refusal.hint) from refusal
        self._remember(spec)

    def judge(self, spec: ClusterSpec) -> Judgement:
        gone = self._nodes_that_go(spec)
        if gone and keeping(self.home) and (departure := judge_departure(self._slurm(), gone)):
            return departure
        good = good_files(self.home)
        if not good or good["slurm.conf"] != self.rendered(spec).text:
            return Judgement(Verdict.WAITING, "The controller does not run with these files yet.")
        state = keeping(self.home)
        late = [part for part in parts_of(self._daemons(spec), state) if part.state != "up"]
        if late:
            words = f" It said: {late[0].detail}" if late[0].detail else ""
            return Judgement(
                Verdict.WAITING, f"Waiting for {', '.join(part.name for part in late[:6])}.{words}"
            )
        try:
            return self._slurm_judges(spec)
        except ConsoleError as error:
            return Judgement(Verdict.WAITING, error.message)

    def _slurm_judges(self, spec: ClusterSpec) -> Judgement:
        slurm = self._slurm()
        nodes = {node.name: node for node in slurm.nodes()}
        if leaving(nodes.values(), spec.node_names):
            return Judgement(Verdict.APPLY_AGAIN, "Nodes that stay are still drained to go.")
        missing = [n for n in spec.node_names if n not in nodes or nodes[n].state.base in LOST]
        # A node that was down before is no fault of this change; one that Slurm does not know yet is waited for.
        unseen = [name for name in missing if name not in nodes or not nodes[name].reason]
        if unseen:
            return Judgement(
                Verdict.WAITING, f"Waiting for {', '.join(unseen[:6])} to register with the controller."
            )
        wanted = {partition.name for partition in (*spec.platform_partitions, *spec.partitions)}
        absent = wanted - {partition.name for partition in slurm.partitions()}
        if absent:
            return Judgement(
                Verdict.WAITING, f"The controller has no partition {', '.join(sorted(absent))} yet."
            )
        unlike_file = unlike(spec.slurm_conf, slurm.config())
        return Judgement(Verdict.WAITING, f"{unlike_file[0]}.") if unlike_file else Judgement(Verdict.DONE)

    # What it is

    def observe(self) -> Observation:
        spec = self._remembered()
        if spec is None:
            return Observation(datetime.now(UTC), problem="Nothing has been started yet.")
        state = keeping(self.home)
        parts = parts_of(self._daemons(spec), state)
        if state is None:
            return Observation(datetime.now(UTC), parts, problem=f"{self.ref.name} does not run.")
        controller = state.daemon("slurmctld")
        if controller is None or controller.state != "up":
            # Its clients would wait for it until their time is over, and the parts be shown as late.
            is_how = controller.state if controller else "not there yet"
            return Observation(datetime.now(UTC), parts, problem=f"The controller, slurmctld, is {is_how}.")
        machines = machine_names(self.ref.key, spec.node_names)
        seen = observe_slurm(self._slurm(), machines, machine_state_of(state))
        if ghosts_of(seen.jobs or (), self.home):
            parts = unsettled(parts, "Puts jobs that ended with their machines back into the queue.")
        unfinished = are_to_restart(seen.nodes or ())
        return replace(seen, parts=parts, drift=drift_of(self.home), unfinished=unfinished)

    def revive(self) -> tuple[str, ...]:
        spec, files = self._remembered(), good_files(self.home)
        if state := keeping(self.home):
            return (*news_of(self.home, state), *self._lay_ghosts(state), *self._go_on_restarting())
        if spec is None or not files:
            return ()
        begin_cluster(self._cluster(spec), files)
        return (f"Started {self.ref.name} again with its last good files.",)

    def _lay_ghosts(self, state: Keeping) -> tuple[str, ...]:
        if are_starting(state, epochs_of(self.home)):
            return ()
        with suppress(Unavailable):  # the controller is not up yet; the next tick asks again
            slurm = self._slurm()
            return lay(slurm, ghosts_of(slurm.jobs(), self.home))
        return ()

    def _go_on_restarting(self) -> tuple[str, ...]:
        with suppress(Unavailable):  # the next tick asks again
            return continue_restarts(
                self._slurm(),
                lambda node: self.restart(node, _silently),
                lambda node: is_back(self.home, node),
            )
        return ()

    def login(self) -> LoginEndpoint:
        spec, state = self._remembered(), keeping(self.home)
        sshd = state.daemon("sshd") if state else None
        if spec is None or sshd is None or sshd.state != "up":
            raise Unavailable(f"The login node of {self.ref.name} is not up.", "See the cluster's parts.")
        cluster = self._cluster(spec)
        host_key = (self.home / "ssh/host_ed25519.pub").read_text().strip()
        return LoginEndpoint("127.0.0.1", cluster.ports.sshd, cluster.login_user, host_key)

    def executor(self) -> Executor:
        spec = self._remembered()
        where = self._cluster(spec).login_home if spec else ""
        return LocalExecutor(command_prefix(self.home), {"HOME": where} if where else {}, directory=where)

    # Restarting and ending it

    def restart(self, part: str, say: Say, *, when_idle: bool = False) -> None:
        spec = self._remembered()
        if spec is None:
            raise Missing(f"{self.ref.name} has nothing to restart.")
        names = {"controller": ["slurmctld"], "login": ["sshd"]}
        nodes = list(spec.node_names) if part == "workers" else [part] if part in spec.node_names else []
        daemons = names.get(part) or [f"slurmd-{node}" for node in nodes]
        if not daemons:
            raise Missing(f"{self.ref.name} has no {part}.")
        if when_idle:
            self._slurm().drain(nodes, RESTARTS)
            say(f"{part} takes no new jobs and restarts when those on it have ended.")
            return
        cluster = replace(self._cluster(spec), epochs=raise_epochs(self.home, *daemons))
        mark_restarted(self.home, nodes)
        write_daemons(cluster)
        reload_keeper(self.home)
        say(f"Restarted {part}.")

    def terminate(self, say: Say) -> None:
        stop_keeper(self.home)
        say("Every daemon and job of the cluster has ended; accounting and homes are kept.")

    def destroy(self, say: Say) -> None:
        stop_keeper(self.home)
        if self.home.exists():
            remove_directory(self.home)
        shutil.rmtree(self.home, ignore_errors=True)
        say("The cluster's directory is gone.")

    # Its memory

    @cached_property
    def _spec_file(self) -> Path:
        return self.home / "spec.json"

    def _remember(self, spec: ClusterSpec) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        replace_file(self._spec_file, msgspec.json.encode(to_json(spec)).decode())

    def _remembered(self) -> ClusterSpec | None:
        try:
            return from_json(msgspec.json.decode(self._spec_file.read_bytes()))
        except FileNotFoundError:
            return None

    def _nodes_that_go(self, spec: ClusterSpec) -> list[str]:
        before = self._remembered()
        return [name for name in before.node_names if name not in spec.node_names] if before else []

    def _cluster(self, spec: ClusterSpec) -> SandboxCluster:
        return replace(self._like(spec), epochs=epochs_of(self.home))

    def _like(self, spec: ClusterSpec) -> SandboxCluster:
        image = image_of(spec)
        return likeness(spec, self.ref, self.home, cached_tree(image) or _unbuilt(image, spec))

    def _daemons(self, spec: ClusterSpec) -> list[str]:
        return [daemon.name for daemon in specs_of(self._cluster(spec))]

    def _slurm(self) -> Slurm:
        return Slurm(self.executor(), remember=self.ref.key)


def _silently(text: str) -> None:
    """For steps that are told in other words."""


def _unbuilt(image: Image, spec: ClusterSpec) -> Tree:
    """Stands for a tree while it is not there yet: enough to render, nothing to run."""
    return Tree(image, Path("/"), "", f"{spec.slurm_version}.0")
