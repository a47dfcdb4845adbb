"""A provisioner that does what a script says: the double of a real platform for everything above the port.

It passes `tests/contracts/test_provisioner.py` like the real ones. A cluster is a `World`; worlds live in
this process, or, when the region's config names a `dir`, in a file there, so that they outlive a killed
worker.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from clusters.acts import (
    Act,
    Touch,
)
from clusters.leases import Clock
from clusters.nodes import NodeState
from clusters.observation import (
    Judgement,
    NodeSeen,
    Observation,
    Part,
    PartitionSeen,
    PartState,
    Verdict,
)
from clusters.provisioner import ClusterRef, Completed, Home, LoginEndpoint, Say
from clusters.spec import ClusterSpec, to_json
from console.errors import ConsoleError, Missing, Problem, Rejected, Unavailable
from tests.fake_foresight import foreseen

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
# A line that the fake platform's own reading finds fault with, and one that only its daemon dies of.
BAD_LINE = "SchedulerType=sched/nonsense"
DEADLY_LINE = "TaskPlugin=task/deadly"
LEAVES, RESTARTS = "quarterdeck: leaves", "quarterdeck: restarts when idle"


class HandClock:
    """Time that stands until it is slept or turned."""

    def __init__(self, at: datetime = EPOCH) -> None:
        self.at = at
        self.on_sleep: Callable[[], None] = lambda: None

    def turn(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        self.turn(seconds)
        self.on_sleep()

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.at, sleep=self.sleep)


@dataclass
class Script:
    """What goes wrong. Each list is used up from the front, one entry a call; empty means that all goes
    well."""

    check: list[ConsoleError | tuple[Problem, ...]] = field(default_factory=list)
    apply: list[ConsoleError | None] = field(default_factory=list)
    judge: list[Judgement | ConsoleError | None] = field(default_factory=list)
    terminate: list[ConsoleError] = field(default_factory=list)
    during_apply: Callable[[], None] = lambda: None


@dataclass
class World:
    """The cluster as it is: files on its disks, the files its daemons run with, and which parts are up."""

    files: dict[str, str] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)
    down: list[str] = field(default_factory=list)
    drained: dict[str, str] = field(default_factory=dict)
    busy: list[str] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    destroyed: bool = False


WORLDS: dict[str, World] = {}
SCRIPTS: dict[str, Script] = {}


def script_of(key: str) -> Script:
    return SCRIPTS.setdefault(key, Script())


class FakeProvisioner:
    """One fake cluster."""

    def __init__(self, ref: ClusterRef) -> None:
        self.ref = ref
        self.script = script_of(ref.key)
        directory = ref.region.get("dir")
        self.path = Path(str(directory)) / f"{ref.key}.json" if directory else None
        self.calls: list[str] = []

    @property
    def world(self) -> World:
        if self.path is None:
            return WORLDS.setdefault(self.ref.key, World())
        return World(**json.loads(self.path.read_text())) if self.path.exists() else World()

    def save(self, world: World) -> None:
        if self.path is None:
            WORLDS[self.ref.key] = world
            return
        with tempfile.NamedTemporaryFile("w", dir=self.path.parent, delete=False) as file:
            json.dump(asdict(world), file)
        os.replace(file.name, self.path)

    def render(self, spec: ClusterSpec) -> Mapping[str, str]:
        document = to_json(spec)
        conf = str(document.pop("slurm_conf"))
        return {"nodes.json": json.dumps(document, sort_keys=True), "slurm.conf": conf}

    def check(self, spec: ClusterSpec, *, shadow: bool = True) -> tuple[Problem, ...]:
        self.calls.append("check")
        if self.script.check:
            answer = self.script.check.pop(0)
            if isinstance(answer, ConsoleError):
                raise answer
            return answer
        lines = spec.slurm_conf.splitlines()
        if shadow and BAD_LINE in lines:
            line = lines.index(BAD_LINE) + 1
            return (Problem("slurm_conf", "SchedulerType has no value sched/nonsense.", line=line),)
        return ()

    def foresee(self, act: Act) -> tuple[Touch, ...]:
        return foreseen(act)

    def apply(self, spec: ClusterSpec, say: Say, *, force: bool = False) -> None:
        """File by file, as real disks are written: killed in between, the files are neither old nor new."""
        self.calls.append("apply")
        error = self.script.apply.pop(0) if self.script.apply else None
        if isinstance(error, Unavailable):
            raise error
        world, before = self.world, dict(self.world.running)
        if self._must_wait(spec, force=force):
            say("The nodes that go take no new jobs.")
            self._let_in(world, spec)
            return
        for name, text in self.render(spec).items():
            world.files[name] = text
            world.destroyed = False
            self.save(world)
            say(f"Wrote {name}.")
            self._wait_while_held()
        self.script.during_apply()
        if error is not None or self._kills(spec):
            world.files = before or world.files
            self.save(world)
            raise error or Rejected(
                "slurmctld died of the new slurm.conf.",
                (Problem("slurm_conf", "Unable to find task/deadly.", line=1),),
            )
        self._start(world)
        say("The daemons run with the new files.")

    def observe(self) -> Observation:
        self.calls.append("observe")
        world = self.world
        if not world.running:
            return Observation(taken_at=datetime.now(UTC), problem="The cluster does not run.")
        document = json.loads(world.running["nodes.json"])
        names = [(g, f"{g['name']}-{n}") for g in document["groups"] for n in g["ordinals"]]
        parts = tuple(self._part(world, kind, name) for kind, name in self._part_names(world))
        if "controller" in world.down:
            return Observation(datetime.now(UTC), parts=parts, problem="The controller does not answer.")
        version = f"{document['slurm_version']}.0"
        nodes = tuple(replace(_node(world, group, name), version=version) for group, name in names)
        unfinished = RESTARTS in world.drained.values()
        partitions = _partitions(document, names)
        return Observation(datetime.now(UTC), parts, nodes, partitions, (), drift="", unfinished=unfinished)

    def judge(self, spec: ClusterSpec) -> Judgement:
        self.calls.append("judge")
        if self.script.judge:
            answer = self.script.judge.pop(0)
            if isinstance(answer, ConsoleError):
                raise answer
            if answer is not None:
                return answer
        world = self.world
        if departure := self._departure(spec):
            return departure
        if world.running != self.render(spec):
            return Judgement(Verdict.WAITING, "The controller still runs with other files.")
        if world.down:
            return Judgement(Verdict.WAITING, f"Waiting for {', '.join(world.down)}.")
        return Judgement(Verdict.DONE)

    def revive(self) -> tuple[str, ...]:
        self.calls.append("revive")
        world = self.world
        if not world.running:
            return ()
        done = tuple(f"Started {name} again." for name in world.down)
        world.down = []
        for name in [n for n, why in world.drained.items() if why == RESTARTS and n not in world.busy]:
            del world.drained[name]
            world.restarts.append(name)
            world.starts[name] = world.starts.get(name, 0) + 1
            done += (f"{name} has restarted.",)
        self.save(world)
        return done

    def restart(self, part: str, say: Say, *, when_idle: bool = False) -> None:
        self.calls.append(f"restart {part}")
        world = self.world
        if part not in {"controller", "login", "workers", *self._nodes(world)}:
            raise Missing(f"There is no {part} to restart.")
        if when_idle:
            names = self._nodes(world) if part == "workers" else {part}
            world.drained |= {name: RESTARTS for name in names if name not in world.drained}
        else:
            world.restarts.append(part)
            for name in self._nodes(world) if part == "workers" else (part,):
                world.starts[name] = world.starts.get(name, 0) + 1
                if world.drained.get(name) == RESTARTS:
                    del world.drained[name]
            world.busy = [name for name in world.busy if name != part]
        self.save(world)
        say(f"Restarts {part}{' when it is idle' if when_idle else ''}.")

    def login(self) -> LoginEndpoint:
        if not self.world.running or "login" in self.world.down:
            raise Unavailable("The login node is not up.", "Wait until the cluster is Running.")
        return LoginEndpoint("127.0.0.1", 22, "root", "ssh-ed25519 AAAA")

    def homes(self) -> tuple[Home, ...]:
        if not self.world.running:
            raise Unavailable("The login node is not up.")
        return (Home("ada", 3 * 2**30), Home("root", 40960))

    def executor(self, login: str = "") -> "FakeExecutor":
        return FakeExecutor(self)

    def login_executor(self) -> "FakeExecutor":
        self.login()
        return FakeExecutor(self)

    def node_executor(self, node: str) -> "FakeExecutor":
        if node not in self._nodes(self.world) or node in self.world.down:
            raise Unavailable(f"{node} is not up.")
        return FakeExecutor(self)

    def drain(self, nodes: Sequence[str], reason: str) -> None:
        self.calls.append(f"drain {','.join(nodes)}")
        world = self.world
        world.drained |= dict.fromkeys(nodes, reason)
        self.save(world)

    def resume(self, nodes: Sequence[str]) -> None:
        self.calls.append(f"resume {','.join(nodes)}")
        world = self.world
        world.drained = {name: why for name, why in world.drained.items() if name not in nodes}
        self.save(world)

    def terminate(self, say: Say) -> None:
        self.calls.append("terminate")
        if self.script.terminate:
            raise self.script.terminate.pop(0)
        world = self.world
        world.running, world.down = {}, []
        self.save(world)
        say("Everything is stopped.")

    def destroy(self, say: Say) -> None:
        self.calls.append("destroy")
        self.save(World(destroyed=True))
        say("Nothing is left.")

    def _nodes(self, world: World) -> set[str]:
        document = json.loads(world.running["nodes.json"]) if world.running else {"groups": []}
        return {f"{g['name']}-{n}" for g in document["groups"] for n in g["ordinals"]}

    def _must_wait(self, spec: ClusterSpec, *, force: bool) -> bool:
        """Drain what goes, undrain what stays, and say whether jobs are still in the way."""
        world = self.world
        going = self._nodes(world) - set(spec.node_names)
        world.drained = {n: why for n, why in world.drained.items() if why != LEAVES or n in going}
        if force:
            world.busy = [name for name in world.busy if name not in going]
        elif going & set(world.busy):
            world.drained |= dict.fromkeys(going, LEAVES)
        self.save(world)
        return not going.isdisjoint(world.busy)

    def _let_in(self, world: World, spec: ClusterSpec) -> None:
        """Who signs in is written at once, whatever waits."""
        theirs = json.loads(self.render(spec)["nodes.json"])
        for files in (world.files, world.running):
            now = json.loads(files["nodes.json"])
            now |= {name: theirs[name] for name in ("logins", "ssh_keys")}
            files["nodes.json"] = json.dumps(now, sort_keys=True)
        self.save(world)

    def _departure(self, spec: ClusterSpec) -> Judgement | None:
        world = self.world
        going = self._nodes(world) - set(spec.node_names)
        if not going or not going <= set(world.drained):
            return None
        if busy := sorted(going & set(world.busy)):
            return Judgement(Verdict.WAITING, f"Waits for jobs on {', '.join(busy)}.", patient=True)
        return Judgement(Verdict.APPLY_AGAIN, "Nothing runs there any more.")

    def kill(self, part: str) -> None:
        """A daemon dies by itself."""
        world = self.world
        world.down.append(part)
        self.save(world)

    def _wait_while_held(self) -> None:
        """Stand still in the middle of an apply for as long as the file `hold` of the region's config exists."""
        hold = self.ref.region.get("hold")
        give_up = time.monotonic() + 30
        while hold and Path(str(hold)).exists() and time.monotonic() < give_up:
            time.sleep(0.02)

    def _kills(self, spec: ClusterSpec) -> bool:
        return DEADLY_LINE in spec.slurm_conf.splitlines()

    def _start(self, world: World) -> None:
        world.running, world.down = dict(world.files), []
        self.save(world)

    def _part_names(self, world: World) -> list[tuple[str, str]]:
        document = json.loads(world.running["nodes.json"])
        workers = [("worker", f"{g['name']}-{n}") for g in document["groups"] for n in g["ordinals"]]
        return [("accounting", "accounting"), ("controller", "controller"), *workers, ("login", "login")]

    def _part(self, world: World, kind: str, name: str) -> Part:
        since = EPOCH + timedelta(seconds=world.starts.get(name, 0))
        return Part(kind, name, PartState.DOWN if name in world.down else PartState.UP, since=since)


class FakeExecutor:
    """Answers `scontrol ping` while the controller is up; its cluster keeps no accounting."""

    def __init__(self, provisioner: FakeProvisioner) -> None:
        self.provisioner = provisioner

    def run_each(self, commands: Sequence[Sequence[str]], *, timeout_s: float = 4.0) -> tuple[Completed, ...]:
        return tuple(self.run(command, timeout_s=timeout_s) for command in commands)

    def run(self, argv: Sequence[str], *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        world = self.provisioner.world
        if not world.running or "controller" in world.down:
            raise Unavailable("The controller does not answer.")
        if list(argv) == ["scontrol", "show", "config"]:
            return Completed(0, b"ClusterName = fake\n", "")
        return Completed(0, b"Slurmctld(primary) at head is UP\n", "")


def _node(world: World, group: dict[str, object], name: str) -> NodeSeen:
    shape = group["shape"]
    assert isinstance(shape, dict)
    drained = world.drained.get(name)
    flags = {"DRAIN"} if drained is not None else set()
    base = "DOWN" if name in world.down else "MIXED" if name in world.busy else "IDLE"
    state = NodeState(base, frozenset(flags))
    return NodeSeen(
        name=name,
        machine=f"machine_{name}",
        state=state,
        machine_state="running",
        cpus=shape["cpus"],
        cpus_allocated=1 if name in world.busy else 0,
        memory_mib=shape["memory_mib"],
        memory_allocated_mib=0,
        gpus=shape["gpus"],
        gpus_allocated=0,
        partitions=("all", str(group["name"])),
        reason=drained or "",
    )


def _partitions(document: dict[str, object], names: list[tuple[object, str]]) -> tuple[PartitionSeen, ...]:
    own = document["partitions"]
    assert isinstance(own, list)
    found = ["all", *(g["name"] for g in document["groups"]), *(p["name"] for p in own)]  # type: ignore[attr-defined]
    return tuple(
        PartitionSeen(name, "UP", "", name == "all", len(names), 0, None, None, 1, {"PartitionName": name})
        for name in found
    )
