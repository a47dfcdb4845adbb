"""The real Slurm behind one Controller's pods: a room of the sandbox with its own keeper and daemons.

One room stands for all pods of a cluster: munged, MariaDB, slurmdbd, `slurmctld -D` and sshd, and for each worker pod
a dynamic `slurmd -Z` that gets its files from the controller, as Slinky's do. Authentication is by munge. A pod that is
replaced restarts its daemon, one that goes takes it along; a worker that goes is first set DOWN, as v1.2.1's preStop
does. Nothing blocks for longer than a command of Slurm's.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from console.errors import Unavailable
from slurm.provisioners.sandbox.cluster import Places, SandboxCluster, room_places
from slurm.provisioners.sandbox.daemon import Spec, specs_text
from slurm.provisioners.sandbox.daemons import WORKERS, daemon_environment, specs_of, worker_machine
from slurm.provisioners.sandbox.files import replace_file
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.layout import lay_out, room_of, sshd_config
from slurm.provisioners.sandbox.machine import VOLUMES, VolumePlace
from slurm.provisioners.sandbox.ports import ports_of
from slurm.provisioners.sandbox.processes import MARK
from slurm.provisioners.sandbox.room import Room as RootRoom
from slurm.provisioners.sandbox.room import remove_directory, room_text
from slurm.provisioners.sandbox.space import (
    Keeping,
    command_prefix,
    keeper_pid,
    keeping,
    reload_keeper,
    run_inside,
    start_keeper,
    stop_keeper,
    write_command_environment,
)
from tests.kube.double.conf import Place, room_conf
from tests.kube.double.wanted import Claimed, Login, Wanted, Worker

CONTROLLER_DIR, LOGIN_DIR, POD_DIR = "/etc/slurm", "/etc/slurm-login", "/etc/slurm-pod"
# kwok has the PATH of who started it, which need not be an image's.
PATH_LINE = "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
STOPPING = "slurm-operator: Pod is terminating"
# What slurmctld prints, its log included.
CONSOLE = "/var/log/slurm/slurmctld-console.log"
# What a room replaces of a cluster's own files: it has no cgroups and no NVIDIA library.
OWN_FILES = ("gres.conf", "cgroup.conf")


@dataclass(frozen=True)
class PodCluster(SandboxCluster):
    """A sandbox whose commands read the controller's own files, as those in the controller's pod do."""

    @cached_property
    def places(self) -> Places:
        return replace(room_places(), controller=CONTROLLER_DIR, client=LOGIN_DIR)

    @property
    def controller_host(self) -> str:
        return f"{self.name}-controller-0"


class Room:
    """`home` is removed by `remove`; `volumes` is shared by the rooms of a namespace and outlives them."""

    def __init__(self, name: str, home: Path, volumes: Path, tree: Tree) -> None:
        self.home = home
        self.volumes = volumes
        ports, _ = ports_of(home, ())
        self.cluster = PodCluster(name, home, tree, ports)
        self.enter = home / "enter"
        self.log = home / "log" / Path(CONSOLE).name
        self._worker_ports: dict[str, int] = {}
        self._workers: dict[str, str] = {}
        self._leaving: set[str] = set()
        self._login: Login | None = None
        self._controller = ""
        # How often slurmctld was started again by `kick` in its present pod.
        self.kicks = 0
        self._written = ""

    # What it is

    def state(self) -> Keeping | None:
        return keeping(self.home)

    @property
    def answers(self) -> bool:
        """slurmctld is up, as far as the keeper knows."""
        state = self.state()
        controller = state.daemon("slurmctld") if state else None
        return controller is not None and controller.state == "up"

    def run(self, *argv: str, limit_s: float = 4.0) -> str:
        """A command inside. Raises `Unavailable` when it fails or is late."""
        done = run_inside(self.home, list(argv), limit_s)
        if done.returncode:
            raise Unavailable(f"{argv[0]}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def room_files(self, wanted: Wanted) -> dict[str, str]:
        """The files of the controller's pod as the room's daemons read them."""
        ports, user = self.cluster.ports, self.cluster.daemon_user
        place = Place(
            host=self.cluster.controller_host,
            slurm_user=user("slurm"),
            root_user=user("root"),
            slurmctld_port=ports.slurmctld,
            slurmdbd_port=ports.slurmdbd,
            munge_socket=self.cluster.places.munge_socket,
            state=self.cluster.places.state,
            spool=self.cluster.places.spool,
        )
        others = {name: text for name, text in wanted.files.items() if name not in OWN_FILES}
        conf = room_conf(wanted.files.get("slurm.conf", ""), place)
        return {**others, "slurm.conf": conf, "gres.conf": wanted.gres}

    # Making it so

    def settle(self, wanted: Wanted) -> None:
        """Start what should run, stop what should not. Idempotent; raises `Unavailable` where rooms are refused."""
        if not wanted.controller and not wanted.accounting and keeper_pid(self.home) is None:
            return
        self._see_off(self._gone(wanted.workers) - wanted.lost, wanted)
        if wanted.controller != self._controller:
            self._controller, self.kicks = wanted.controller, 0
        if wanted.login and (self._login is None or self._login.uid != wanted.login.uid):
            self._login = wanted.login
        if keeper_pid(self.home) is None:
            self._begin(wanted)
        self._write(wanted)
        self._workers = {worker.host: worker.uid for worker in wanted.workers}

    def kick(self) -> None:
        """Have slurmctld started again with the next `settle`, not after its back-off."""
        self.kicks += 1

    def stop(self) -> None:
        stop_keeper(self.home)
        self._written, self._workers, self._login = "", {}, None
        self.enter.unlink(missing_ok=True)

    def remove(self) -> None:
        self.stop()
        remove_directory(self.home)

    def _begin(self, wanted: Wanted) -> None:
        lay_out(self.cluster, self.room_files(wanted))
        (self.home / "conf/pod").mkdir(parents=True, exist_ok=True)
        self.show_files(wanted.files)
        write_command_environment(self.cluster)
        self._written = self._write_rooms(wanted)
        start_keeper(self.home, prefix=False)
        replace_file(self.enter, _enter_script(command_prefix(self.home)))

    def show_files(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            replace_file(self.home / "conf/pod" / name, text)

    def _write(self, wanted: Wanted) -> None:
        before = self._written
        self._written = self._write_rooms(wanted)
        if self._written != before:
            reload_keeper(self.home)

    def _write_rooms(self, wanted: Wanted) -> str:
        """room.json and daemons.json; returns both."""
        if self._login:
            _write_login(self.home / "ssh", self._login, self.cluster)
        room, daemons = room_text(self._root(wanted)), specs_text(self._specs(wanted))
        replace_file(self.home / "keeper/room.json", room)
        replace_file(self.home / "keeper/daemons.json", daemons)
        return room + daemons

    def _root(self, wanted: Wanted) -> RootRoom:
        room = room_of(self.cluster)
        own = room.binds[0][2]
        self.volumes.mkdir(parents=True, exist_ok=True)
        more = (("conf/pod", POD_DIR, own), (str(self.volumes), VOLUMES, own))
        hosts = " ".join(worker.host for worker in wanted.workers)
        files = {**room.files, "/etc/hosts": f"{room.files['/etc/hosts']}127.0.0.1 localhost {hosts}\n"}
        if self._login:
            files |= self._login.files
        return replace(room, binds=(*room.binds, *more), files=files)

    def _specs(self, wanted: Wanted) -> list[Spec]:
        epochs = {
            "slurmctld": _epoch(f"{wanted.controller}/{self.kicks}"),
            "slurmdbd": _epoch(wanted.accounting),
            "sshd": _epoch(self._login.uid if self._login else ""),
        }
        runs = {
            "munged": True,
            "mariadbd": bool(wanted.accounting),
            "slurmdbd": bool(wanted.accounting),
            "slurmctld": bool(wanted.controller),
            "sshd": wanted.login is not None,
        }
        found = specs_of(replace(self.cluster, epochs=epochs))
        specs = [self._as_in_pods(spec, wanted) for spec in found if runs[spec.name]]
        return [*specs, *(self._slurmd(worker) for worker in wanted.workers)]

    def _as_in_pods(self, spec: Spec, wanted: Wanted) -> Spec:
        """slurmctld with -D, as in containers: a bad file at a reconfigure ends it."""
        if spec.name == "slurmctld":
            conf = "/etc/hostname" if wanted.crash else f"{CONTROLLER_DIR}/slurm.conf"
            return replace(spec, argv=("/usr/sbin/slurmctld", "-D", "-f", conf), pidfile=None, log=CONSOLE)
        if spec.name == "sshd" and self._login and spec.machine:
            machine = replace(spec.machine, volumes=self._places(self._login.claims))
            return replace(spec, steps=(), machine=machine)
        return spec

    def _slurmd(self, worker: Worker) -> Spec:
        """v1.2.1 was seen to start `slurmd -Z --conf-server ... --conf '...'`; address and sizes are the room's."""
        port = self._port_of(worker.host)
        here = f"Port={port} NodeHostname={worker.host} NodeAddr=127.0.0.1"
        size = f"CPUs={worker.cpus} RealMemory={worker.memory_mib}"
        server = f"127.0.0.1:{self.cluster.ports.slurmctld}"
        conf = f"{here} {size} {worker.conf}"
        return Spec(
            name=f"slurmd-{worker.host}",
            argv=("/usr/sbin/slurmd", "-D", "-Z", "-N", worker.host, "--conf-server", server, "--conf", conf),
            log=f"/var/log/slurm/slurmd-{worker.host}.log",
            order=WORKERS,
            env=daemon_environment(self.cluster) | {MARK: str(self.home)},
            ready_port=port,
            hostname=worker.host,
            machine=replace(worker_machine(self.cluster, worker.host), volumes=self._places(worker.claims)),
            epoch=_epoch(worker.uid),
            leaves=f"SLURMD_NODENAME={worker.host}",
        )

    def _port_of(self, host: str) -> int:
        if host not in self._worker_ports:
            _, found = ports_of(self.home, (*self._worker_ports, host))
            self._worker_ports = dict(found)
        return self._worker_ports[host]

    def _gone(self, workers: tuple[Worker, ...]) -> set[str]:
        now = {worker.host: worker.uid for worker in workers}
        return {host for host, uid in self._workers.items() if now.get(host) != uid}

    def _see_off(self, gone: set[str], wanted: Wanted) -> None:
        """The preStop of worker pods, which v1.2.1 was seen to define: DOWN with a reason of the operator's.

        Said again once slurmd has ended: slurmctld takes a node back that answers meanwhile (ReturnToService=2).
        """
        for host in gone:
            self._set_down(host)
        state = self.state()
        running = {daemon.name for daemon in state.daemons} if state else set()
        returned = {worker.host for worker in wanted.workers}
        self._leaving = (self._leaving | gone) - returned
        for host in [host for host in self._leaving - gone if f"slurmd-{host}" not in running]:
            self._set_down(host)
            self._leaving.discard(host)

    def _set_down(self, host: str) -> None:
        if self.answers:
            words = [f"nodename={host}", "state=down", f"reason={STOPPING}"]
            run_inside(self.home, ["scontrol", "update", *words], 4.0)

    def _places(self, claims: tuple[Claimed, ...]) -> tuple[VolumePlace, ...]:
        """A volume is a directory of the namespace's, which every pod with its claim has at the path it says."""
        for claimed in claims:
            (self.volumes / claimed.claim).mkdir(exist_ok=True)
            (self.volumes / claimed.claim).chmod(0o1777)
        return tuple(VolumePlace(f"{VOLUMES}/{one.claim}", one.path, one.read_only) for one in claims)


def _epoch(of: str) -> int:
    return zlib.crc32(of.encode())


def _write_login(ssh: Path, login: Login, cluster: SandboxCluster) -> None:
    """sshd reads its keys anew at each sign-in, so these are the ones that the pod began with."""
    places = cluster.places.ssh
    kept = [
        line for line in sshd_config(cluster).splitlines() if not line.startswith(("HostKey ", "TrustedUser"))
    ]
    ports = [f"Port {port}" for port in login.ports]
    keys = [f"HostKey {places}/{name}" for name in login.host_keys if not name.endswith(".pub")]
    slurm = f"SetEnv SLURM_CONF={LOGIN_DIR}/slurm.conf"
    text = "\n".join([*ports, *kept, *keys, slurm, login.config]) + "\n"
    ssh.mkdir(parents=True, exist_ok=True)
    for name, content, mode in (
        ("sshd_config", text, 0o644),
        ("authorized_keys", login.keys, 0o644),
        *((name, key, 0o644 if name.endswith(".pub") else 0o600) for name, key in login.host_keys.items()),
    ):
        path = ssh / name
        if not path.exists() or path.read_text() != content:
            replace_file(path, content)
        path.chmod(mode)


def _enter_script(prefix: list[str]) -> str:
    """Sourced by a shim with the command's name in $name and its arguments in $@.

    The pod's own files are not those that the room's daemons read (`conf.room_conf`), so they lie elsewhere.
    """
    return f"""\
{PATH_LINE}n=$#
while [ $n -gt 0 ]; do
  word=$1; shift; n=$((n - 1))
  case $word in {CONTROLLER_DIR}/*) word={POD_DIR}/${{word#{CONTROLLER_DIR}/}} ;; esac
  set -- "$@" "$word"
done
exec {" ".join(prefix)} "$name" "$@"
"""
