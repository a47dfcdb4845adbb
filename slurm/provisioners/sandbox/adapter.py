"""The sandbox behind the `Provisioner` port: what the rest of Quarterdeck knows of it.

State is in the cluster's directory below `settings.VAR_DIR`, so any process of the same user may hold an adapter.
`observe` and `revive` go by the spec that is remembered there (`memory`).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from clusters.acts import Act, Touch
from clusters.observation import Judgement, Observation, Verdict
from clusters.provisioner import ClusterRef, Executor, Home, LoginEndpoint, Say
from clusters.spec import ClusterSpec
from console.errors import ConsoleError, Missing, Problem, Rejected, Unavailable
from console.words import listed
from slurm.checks.conf import check_conf
from slurm.client import Slurm
from slurm.executors.local import LocalExecutor
from slurm.homes import homes_by
from slurm.observe import observe_slurm
from slurm.provisioners.sandbox.apply import apply_files, good_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.daemon import Spec as Daemon
from slurm.provisioners.sandbox.daemons import specs_of
from slurm.provisioners.sandbox.departures import (
    are_to_restart,
    continue_restarts,
    judge_departure,
    leaving,
    make_way,
    meanwhile,
    restart_when_idle,
    wait_no_longer,
)
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.foresight import foresee
from slurm.provisioners.sandbox.ghosts import ghosts_of, lay
from slurm.provisioners.sandbox.homes import on_login
from slurm.provisioners.sandbox.images import Image, Tree
from slurm.provisioners.sandbox.layout import complete_files, platform_lines
from slurm.provisioners.sandbox.leftovers import has_leftovers, sweep_leftovers
from slurm.provisioners.sandbox.likeness import image_of, likeness, machine_names
from slurm.provisioners.sandbox.memory import remember, remembered
from slurm.provisioners.sandbox.orders import kept_nodes
from slurm.provisioners.sandbox.people import as_user, name_problems
from slurm.provisioners.sandbox.pidfile import allow_start
from slurm.provisioners.sandbox.places import links_in_the_way
from slurm.provisioners.sandbox.renewal import carry_out, cut_short, renew
from slurm.provisioners.sandbox.running_images import (
    as_it_runs,
    image_problems,
    other_version,
    others_than,
)
from slurm.provisioners.sandbox.settling import cancel_jobs, judge_people, settle_people
from slurm.provisioners.sandbox.shadow import shadow_check, sweep_shadows
from slurm.provisioners.sandbox.sight import (
    are_starting,
    drift_of,
    is_back,
    last_words,
    machine_state_of,
    news_of,
    parts_of,
    unsettled,
    with_job_scripts,
    without_init,
    without_mounts,
)
from slurm.provisioners.sandbox.space import (
    Keeping,
    can_make_rooms,
    command_prefix,
    keeper_pid,
    keeping,
    remove_home,
    stop_keeper,
)
from slurm.provisioners.sandbox.start import begin_cluster
from slurm.provisioners.sandbox.tree import build_tree, cached_tree
from slurm.provisioners.sandbox.upgrade import change_image, forget_copies, forget_cut_short
from slurm.provisioners.sandbox.worker import worker_executor
from slurm.readback import unlike, unlike_scripts
from slurm.render import RenderedConf, in_user_part, render_conf
from slurm.resuming import resume_drained
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
        problems = (*problems, *links_in_the_way(self.home, spec.mounts), *name_problems(spec.logins))
        problems = (*problems, *image_problems(self._remembered(), spec))
        if not shadow or any(problem.blocking for problem in problems):
            return problems
        tree = cached_tree(image_of(spec))
        if tree is None:
            return (*problems, unread(f"Slurm {spec.slurm_version} is not unpacked here yet"))
        cluster = likeness(spec, self.ref, self.home, tree)
        conf = self.rendered(spec)
        found = shadow_check(cluster, {"slurm.conf": conf.text})
        return (*problems, *(in_user_part(problem, conf) for problem in found))

    def foresee(self, act: Act) -> tuple[Touch, ...]:
        return foresee(act, has_rooms=not can_make_rooms())

    # Making it so

    def apply(self, spec: ClusterSpec, say: Say, *, force: bool = False) -> None:
        tree = build_tree(image_of(spec), say)
        allow_start(self.home)
        self._bring_to(tree, spec, say)
        if not good_files(self.home):
            self._remember(spec)
        gone = self._nodes_that_go(spec)
        if not force and keeper_pid(self.home) and not make_way(self._slurm(), gone, spec.node_names, say):
            if now := meanwhile(self._remembered(), spec, gone):
                self._write(now, tree, say)
            return
        self._write(spec, tree, say, restart=bool(gone) and tree.release < (23, 11))

    def _write(self, spec: ClusterSpec, tree: Tree, say: Say, *, restart: bool = False) -> None:
        cluster, conf = likeness(spec, self.ref, self.home, tree), self.rendered(spec)
        if keeper_pid(self.home):
            cancel_jobs(cluster, self._slurm(), say)
        try:
            apply_files(cluster, {"slurm.conf": conf.text}, say, restart=restart)
        except Rejected as refusal:
            problems = tuple(in_user_part(problem, conf) for problem in refusal.problems)
            raise Rejected(refusal.message, problems, refusal.hint) from refusal
        self._remember(spec)
        settle_people(cluster, self._slurm(), say)

    def _bring_to(self, tree: Tree, spec: ClusterSpec, say: Say) -> None:
        """Have every part run this image, before anything else changes: what is rendered is the new image's already."""
        before = self._remembered()
        if before is None or not good_files(self.home):
            return
        if others_than(self.home, tree.image.name):
            if not keeper_pid(self.home):
                begin_cluster(self._cluster(before), good_files(self.home))
            change_image(replace(self._like(before), tree=tree), say)
        elif before != spec:
            forget_copies(self.home)
        else:
            forget_cut_short(self.home)

    def judge(self, spec: ClusterSpec) -> Judgement:
        gone = self._nodes_that_go(spec)
        if gone and keeping(self.home) and (departure := judge_departure(self._slurm(), gone)):
            return departure
        if others := others_than(self.home, image_of(spec).name):
            words = f"Waiting for {listed(list(others))} to run Slurm {spec.slurm_version}."
            return Judgement(Verdict.WAITING, words)
        good = good_files(self.home)
        if any(good.get(name) != text for name, text in self.render(spec).items()):
            return Judgement(Verdict.WAITING, "The controller does not run with these files yet.")
        state = keeping(self.home)
        late = [part for part in parts_of(self._daemons(spec), state) if part.state != "up"]
        if late:
            names = ", ".join(part.name for part in late[:6])
            return Judgement(Verdict.WAITING, f"Waiting for {names}.{last_words(late[0])}")
        if unmounted := without_mounts(self._daemons_of(spec), state):
            return Judgement(
                Verdict.WAITING, f"Waiting for {', '.join(unmounted[:6])} to start with the volumes."
            )
        if unbegun := without_init(self._daemons_of(spec), state):
            return Judgement(
                Verdict.WAITING, f"Waiting for {', '.join(unbegun[:6])} to start with the init script."
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
        config = slurm.config()
        if other := other_version(spec, config, nodes.values()):
            return Judgement(Verdict.WAITING, other)
        if unlike_file := (*unlike(spec.slurm_conf, config), *unlike_scripts(spec.scripts, config)):
            return Judgement(Verdict.WAITING, f"{unlike_file[0]}.")
        return judge_people(self._cluster(spec), slurm) or Judgement(Verdict.DONE)

    # What it is

    def observe(self) -> Observation:
        spec = self._remembered()
        if spec is None:
            return Observation(datetime.now(UTC), problem="Nothing has been started yet.")
        state = keeping(self.home)
        parts = with_job_scripts(parts_of(self._daemons(spec), state), self.home)
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
        is_cut_short = bool(cut_short(self.home, state)) or has_leftovers(self.home)
        unfinished = are_to_restart(seen.nodes or ()) or is_cut_short
        return replace(seen, parts=parts, drift=drift_of(self.home), unfinished=unfinished)

    def revive(self) -> tuple[str, ...]:
        spec, files = self._remembered(), good_files(self.home)
        if spec and (state := keeping(self.home)):
            sweep_leftovers(self.home)
            finished = self._finish_restarts(spec, state)
            return (
                *news_of(self.home, state),
                *finished,
                *self._lay_ghosts(state),
                *self._go_on_restarting(),
            )
        if spec is None or not files:
            return ()
        begin_cluster(self._cluster(spec), files)
        return (f"Started {self.ref.name} again with its last good files.",)

    def _finish_restarts(self, spec: ClusterSpec, state: Keeping) -> tuple[str, ...]:
        late = cut_short(self.home, state)
        if late:
            carry_out(self._cluster(spec), late)
        return tuple(f"{name} restarts: whoever began that was cut short." for name in late)

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

    def homes(self) -> tuple[Home, ...]:
        """The login node's are the room's own; volumes are mounted for machines alone."""
        if keeping(self.home) is None:
            raise Unavailable(f"The login node of {self.ref.name} is not up.", "See the cluster's parts.")
        return homes_by(self.executor()) if not can_make_rooms() else ()

    def executor(self, login: str = "") -> Executor:
        spec = self._remembered()
        if login and spec is not None and spec.logins.user(login):
            return self._executor_of(login, self._cluster(spec))
        where = self._cluster(spec).login_home if spec else ""
        return LocalExecutor(command_prefix(self.home), {"HOME": where} if where else {}, directory=where)

    def login_executor(self) -> Executor:
        """The room's own programs: those of the login node."""
        self.login()
        return self.executor()

    def node_executor(self, node: str) -> Executor:
        return worker_executor(self.home, node)

    def _executor_of(self, login: str, cluster: SandboxCluster) -> Executor:
        """On the login node, as this person: where their home is, on a volume or not."""
        prefix = [*command_prefix(self.home), *on_login(cluster), *as_user(cluster, login)]
        where = cluster.logins.home_of(login)
        return LocalExecutor(prefix, {"HOME": where, "USER": login, "LOGNAME": login}, directory=where)

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
            restart_when_idle(self._slurm(), nodes)
            say(f"{part} takes no new jobs and restarts when those on it have ended.")
            return
        renew(self._cluster(spec), daemons)
        if nodes:
            wait_no_longer(self._slurm(), nodes)
        say(f"Restarted {part}.")

    def drain(self, nodes: Sequence[str], reason: str) -> None:
        self._slurm().drain(nodes, reason)

    def resume(self, nodes: Sequence[str]) -> None:
        resume_drained(self._slurm(), nodes)

    def terminate(self, say: Say) -> None:
        stop_keeper(self.home, for_good=True)
        sweep_shadows(self.home)
        say("Every daemon and job of the cluster has ended; accounting is kept.")

    def destroy(self, say: Say) -> None:
        stop_keeper(self.home, for_good=True)
        remove_home(self.home)
        say("The cluster's directory is gone.")

    # Its memory

    def _remember(self, spec: ClusterSpec) -> None:
        remember(self.home, spec)

    def _remembered(self) -> ClusterSpec | None:
        return remembered(self.home)

    def _nodes_that_go(self, spec: ClusterSpec) -> list[str]:
        """Those that an apply brought and another that was cut short did not write down count, too."""
        before = self._remembered()
        names = dict.fromkeys((*(before.node_names if before else ()), *kept_nodes(self.home)))
        return [name for name in names if name not in spec.node_names]

    def _cluster(self, spec: ClusterSpec) -> SandboxCluster:
        return as_it_runs(self._like(spec))

    def _like(self, spec: ClusterSpec) -> SandboxCluster:
        image = image_of(spec)
        return likeness(spec, self.ref, self.home, cached_tree(image) or _unbuilt(image, spec))

    def _daemons(self, spec: ClusterSpec) -> list[str]:
        return [daemon.name for daemon in self._daemons_of(spec)]

    def _daemons_of(self, spec: ClusterSpec) -> list[Daemon]:
        return specs_of(self._cluster(spec))

    def _slurm(self) -> Slurm:
        return Slurm(self.executor(), remember=self.ref.key)


def _silently(text: str) -> None:
    """For steps that are told in other words."""


def _unbuilt(image: Image, spec: ClusterSpec) -> Tree:
    """Stands for a tree while it is not there yet: enough to render, nothing to run."""
    return Tree(image, Path("/"), "", f"{spec.slurm_version}.0")
