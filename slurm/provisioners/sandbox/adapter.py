"""The sandbox as a provisioner: `clusters.provisioner.Provisioner` over the parts of this package.

One cluster lives below `VAR_DIR/clusters/KEY`; all that is known of it is in files there, so every process of this
machine and user can use its own adapter. This is the only module of the package that knows the spec and the settings.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from clusters.observation import Judgement, Observation
from clusters.provisioner import ClusterRef, LoginEndpoint, Say
from clusters.spec import ClusterSpec
from console.errors import ConsoleError, Missing, Problem, Rejected, Unavailable
from slurm.client import Slurm
from slurm.executors.local import LocalExecutor
from slurm.observe import observe_slurm
from slurm.provisioners.sandbox.apply import apply_files
from slurm.provisioners.sandbox.candidate import candidate_of, provisional_tree
from slurm.provisioners.sandbox.cluster import own_name
from slurm.provisioners.sandbox.drift import drift_of
from slurm.provisioners.sandbox.epochs import raise_epochs
from slurm.provisioners.sandbox.images import HOST_PREFIX, IMAGES, Image, Tree
from slurm.provisioners.sandbox.judging import judge_cluster
from slurm.provisioners.sandbox.machines import machines_of
from slurm.provisioners.sandbox.parts import machine_states, news_of, parts_of
from slurm.provisioners.sandbox.ports import ports_known
from slurm.provisioners.sandbox.restarting import restart_daemons
from slurm.provisioners.sandbox.room import remove_directory
from slurm.provisioners.sandbox.shadow import shadow_check
from slurm.provisioners.sandbox.space import can_make_rooms, command_prefix, keeping, start_keeper, stop_keeper
from slurm.provisioners.sandbox.tree import build_tree, cached_tree

ENDED = "terminated"


class Sandbox:
    """One cluster of this machine. Constructing it touches nothing."""

    def __init__(self, ref: ClusterRef) -> None:
        self.ref = ref
        self.home: Path = settings.VAR_DIR / "clusters" / ref.key

    def render(self, spec: ClusterSpec) -> Mapping[str, str]:
        """slurm.conf, gres.conf and cgroup.conf. Chooses ports for new nodes, which then stay theirs."""
        image = image_of(spec)
        return candidate_of(self.ref, spec, self.home, cached_tree(image) or provisional_tree(image)).files

    def check(self, spec: ClusterSpec, *, shadow: bool = True) -> tuple[Problem, ...]:
        """The shadow's verdict, with lines counted in `spec.slurm_conf`.

        A cluster whose image was never unpacked here is checked at its apply: unpacking takes longer than a check may.
        """
        tree = cached_tree(image_of(spec))
        if not shadow or tree is None:
            return ()
        candidate = candidate_of(self.ref, spec, self.home, tree)
        return candidate.locate(shadow_check(candidate.cluster, candidate.files))

    def apply(self, spec: ClusterSpec, say: Say) -> None:
        unpacked = cached_tree(image_of(spec))
        tree = unpacked or build_tree(image_of(spec), say)
        candidate = candidate_of(self.ref, spec, self.home, tree)
        (self.home / ENDED).unlink(missing_ok=True)
        if unpacked is None and settings.SHADOW_CHECK:
            self._refuse(self.check(spec))
        try:
            apply_files(candidate.cluster, candidate.files, say)
        except Rejected as refused:
            raise Rejected(refused.message, candidate.locate(refused.problems), refused.hint) from refused

    def observe(self) -> Observation:
        state = keeping(self.home)
        parts = parts_of(self.home, state)
        if state is None:
            return Observation(datetime.now(UTC), parts, problem=f"{self.ref.name}'s daemons do not run.")
        try:
            slurm = Slurm(self.executor(), remember=self.ref.key)
            nodes = ports_known(self.home)
            seen = observe_slurm(slurm, machines_of(self.home, nodes), machine_states(state))
        except ConsoleError as error:
            return Observation(datetime.now(UTC), parts, problem=error.message)
        return replace(seen, parts=parts, drift=drift_of(self.home))

    def judge(self, spec: ClusterSpec) -> Judgement:
        return judge_cluster(self.home, spec, self.render(spec), Slurm(self.executor()))

    def revive(self) -> tuple[str, ...]:
        """Start the keeper where it was killed. What dies below the keeper it brings back itself; that is only told."""
        if not (self.home / "keeper/daemons.json").exists() or (self.home / ENDED).exists():
            return ()
        if keeping(self.home) is None:
            start_keeper(self.home, prefix=not (self.home / "keeper/room.json").exists())
            return (f"All of {self.ref.name}'s daemons had ended; they were started again.",)
        return news_of(self.home, keeping(self.home))

    def restart(self, part: str, say: Say) -> None:
        """A restarted login node ends its sessions; a restarted worker ends its jobs, which Slurm then requeues."""
        state = keeping(self.home)
        if state is None:
            raise Unavailable(f"{self.ref.name} does not run.", "Wait until it is started again.")
        kinds = {"controller": ["slurmctld"], "login": ["sshd"]}
        workers = [daemon.name for daemon in state.daemons if daemon.name.startswith("slurmd-")]
        names = workers if part == "workers" else kinds.get(part, [f"slurmd-{part}"])
        if unknown := [name for name in names if state.daemon(name) is None]:
            raise Missing(f"{self.ref.name} has no part {unknown[0].removeprefix('slurmd-')}.")
        raise_epochs(self.home, *names)
        restart_daemons(self.home, names, say)

    def login(self) -> LoginEndpoint:
        state = keeping(self.home)
        sshd = state.daemon("sshd") if state else None
        if sshd is None or sshd.state != "up":
            raise Unavailable(f"The login node of {self.ref.name} is not up.", "Wait a moment, or look at its parts.")
        key = (self.home / "ssh/host_ed25519.pub").read_text().strip()
        return LoginEndpoint("127.0.0.1", ports_known(self.home)["sshd"], own_name(), key)

    def executor(self) -> LocalExecutor:
        return LocalExecutor(prefix=command_prefix(self.home))

    def terminate(self, say: Say) -> None:
        """Accounting and homes stay in the cluster's directory."""
        if self.home.exists():
            (self.home / ENDED).touch()
            if keeping(self.home) is not None:
                say("Stopping the daemons; running jobs end with them.")
        stop_keeper(self.home)

    def destroy(self, say: Say) -> None:
        stop_keeper(self.home)
        remove_directory(self.home)
        say("Its directory is removed.")

    def _refuse(self, problems: tuple[Problem, ...]) -> None:
        if any(problem.blocking for problem in problems):
            raise Rejected("Slurm's daemons do not start with this configuration.", problems)


def image_of(spec: ClusterSpec) -> Image:
    """The image of the spec's Slurm version, or this machine's own release where the kernel refuses root trees."""
    if can_make_rooms():
        return HOST_PREFIX
    try:
        return IMAGES[spec.slurm_version]
    except KeyError as unknown:
        raise Missing(f"The sandbox has no image with Slurm {spec.slurm_version}.") from unknown
