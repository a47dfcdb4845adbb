"""Let a real slurmctld read a candidate configuration before any live daemon does.

slurmctld has no option to test a file (any version), so a *shadow* of the cluster is started from the candidate: in a
throwaway root without network where that is possible, else beside the cluster on ports of its own. It either becomes
the controller within a moment or says why not. gres.conf, of which only slurmd dies, is read by `slurmd -G`. Works for
clusters that do not exist yet. What the shadow cannot see is listed in design 10.
"""

import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from console.errors import Problem, Unavailable
from slurm.provisioners.sandbox.apart import Way
from slurm.provisioners.sandbox.cluster import Ports, SandboxCluster, SandboxNode, sockets_of
from slurm.provisioners.sandbox.daemon import Spec
from slurm.provisioners.sandbox.daemons import specs_of
from slurm.provisioners.sandbox.layout import complete_files, lay_out, platform_lines
from slurm.provisioners.sandbox.passing import left_behind, make_passing
from slurm.provisioners.sandbox.space import run_keeper_module
from slurm.provisioners.sandbox.trial import Ending, Trial, run_in_turn
from slurm.provisioners.sandbox.within import remove_tree
from slurm.refusals import problems_in

LIMIT_S = 5.0
# Said when there is a kind of resource (TRES) that the memory does not know.
_NEEDS_ACCOUNTING = "Problem adding tres to the database"
# What lets a controller start without its accounting: the cluster's id, the kinds of resources, accounts and QOS.
REMEMBERED = ("clustername", "last_tres", "assoc_mgr_state")


def shadow_check(cluster: SandboxCluster, files: Mapping[str, str]) -> tuple[Problem, ...]:
    """What Slurm's own daemons say of these files; empty when they take them without a word.

    `files` holds slurm.conf and may hold gres.conf and cgroup.conf; lines are counted in them as given. Blocking
    problems stop a daemon; others are complaints with which it runs. About 0.2 s for a cluster that has saved its
    state, else 1.5 s because accounting is started too; at most about 7 s. Raises `Unavailable` when the shadow itself
    could not be run.
    """
    complete = complete_files(cluster, files)
    endings = _try(cluster, complete, with_accounting=False)
    if any(_NEEDS_ACCOUNTING in line for ending in endings for line in ending.lines):
        endings = _try(cluster, complete, with_accounting=True)
    return tuple(dict.fromkeys(_problems(endings, complete)))


def _try(cluster: SandboxCluster, files: Mapping[str, str], *, with_accounting: bool) -> list[Ending]:
    """The controller's ending and, if it was good, those of the workers."""
    with _throwaway(cluster) as home:
        twin = _twin(cluster, home)
        lay_out(twin, _for_twin(files, cluster, twin))
        accounting = with_accounting or not _remember(cluster, twin)
        company = _company(twin, ("munged", "mariadbd", "slurmdbd") if accounting else ("munged",))
        trials = [*company, _controller(twin), *_workers(twin)]
        endings = run_in_turn(trials) if cluster.tree.image.prefix else _run_apart(cluster.way, home, trials)
        if accounting:
            _keep_memory(cluster, twin)
    _require(company, endings)
    return endings[len(company) :]


def _problems(endings: list[Ending], files: Mapping[str, str]) -> Iterator[Problem]:
    """The controller reads slurm.conf; what then still stops a worker is in gres.conf."""
    controller, *workers = endings
    yield from problems_in(controller, files["slurm.conf"], path="slurm_conf", daemon="slurmctld")
    for ending in workers:
        if not ending.is_success:
            yield from problems_in(ending, files["gres.conf"], path="gres_conf", daemon="slurmd")


def _require(company: list[Trial], endings: list[Ending]) -> None:
    if len(endings) <= len(company):
        words = " ".join(endings[-1].lines[-3:]) if endings else "nothing was started"
        raise Unavailable(
            f"The shadow controller could not be tried: {words}", "Try again; if it stays, see the log."
        )


def _twin(cluster: SandboxCluster, home: Path) -> SandboxCluster:
    """The same cluster elsewhere. Apart it may even keep its ports; beside the real one it needs others."""
    ports = _spare_ports() if cluster.tree.image.prefix else cluster.ports
    return replace(cluster, home=home, ports=ports, epochs={}, usr={}, mounts=(), volumes=None)


def _for_twin(files: Mapping[str, str], cluster: SandboxCluster, twin: SandboxCluster) -> dict[str, str]:
    """The candidate with the sandbox's own lines exchanged one for one, so that line numbers stay."""
    theirs = dict(zip(platform_lines(cluster).splitlines(), platform_lines(twin).splitlines(), strict=True))
    lines = [theirs.get(line, line) for line in files["slurm.conf"].splitlines()]
    gpu = {name: text.replace(cluster.places.gpu, twin.places.gpu) for name, text in files.items()}
    return {**gpu, "slurm.conf": "\n".join(lines) + "\n"}


def _company(twin: SandboxCluster, names: tuple[str, ...]) -> list[Trial]:
    """What a controller needs around it: munged always, accounting only where nothing of it is remembered."""
    specs = {spec.name: spec for spec in specs_of(twin)}
    return [trial for name in names for trial in _staying(specs[name])]


def _remember(cluster: SandboxCluster, twin: SandboxCluster) -> bool:
    """Give the twin the live controller's memory of its accounting, or that of another cluster of the same image."""
    for source in (cluster.home / "state", _image_memory(cluster)):
        if all((source / name).is_file() for name in REMEMBERED):
            for name in REMEMBERED:
                _copy_memory(source / name, twin)
            return True
    return False


def _copy_memory(source: Path, twin: SandboxCluster) -> None:
    content = source.read_bytes()
    if source.name == "clustername":
        # `name`, since 24.05 `name|id`; a controller refuses another cluster's name.
        content = twin.name.encode() + b"".join(content.partition(b"|")[1:])
    target = twin.home / "state" / source.name
    target.write_bytes(content)
    if twin.way is Way.ROOT:
        os.chown(target, *twin.owner("slurm"))


def _keep_memory(cluster: SandboxCluster, twin: SandboxCluster) -> None:
    """What a shadow with accounting saved as it ended serves the next ones of this image, before any real start."""
    memory = _image_memory(cluster)
    saved = [twin.home / "state" / name for name in REMEMBERED]
    if memory.exists() or not all(path.is_file() for path in saved):
        return
    for left in left_behind(memory.parent, "memory"):
        remove_tree(left)
    building = make_passing(memory.parent, "memory")
    for path in saved:
        shutil.copyfile(path, building / path.name)
    try:
        building.rename(memory)
    except OSError:
        # Another shadow was first.
        remove_tree(building)


def _image_memory(cluster: SandboxCluster) -> Path:
    return cluster.tree.root.parent / "accounting-memory"


def _staying(spec: Spec) -> Iterator[Trial]:
    for step in spec.steps:
        yield Trial(tuple(step["argv"]), spec.log, spec.env, spec.user, limit_s=20.0)
    yield Trial(
        spec.argv,
        spec.log,
        spec.env,
        spec.user,
        ready_port=spec.ready_port,
        ready_path=spec.ready_path,
        stays=True,
        limit_s=20.0,
    )


def _controller(twin: SandboxCluster) -> Trial:
    spec = next(spec for spec in specs_of(twin) if spec.name == "slurmctld")
    return Trial(
        (spec.argv[0], "-D", *spec.argv[1:]),
        f"{twin.places.log}/shadow.log",
        spec.env,
        spec.user,
        ready_port=spec.ready_port,
        ready_argv=(f"{twin.places.programs}/usr/bin/scontrol", "ping"),
        doom_mark="retrying in 1sec up to 60sec",
        limit_s=LIMIT_S,
    )


def _workers(twin: SandboxCluster) -> Iterator[Trial]:
    """One worker of each kind of GPU declaration reads its gres.conf; it wants to see its spool directory."""
    specs = {spec.name: spec for spec in specs_of(twin)}
    for node in _one_of_each(twin.nodes):
        (twin.home / "spool" / node.name).mkdir(parents=True)
        spec = specs[f"slurmd-{node.name}"]
        argv = (spec.argv[0], "-G", *spec.argv[2:])
        log = f"{twin.places.log}/shadow-{node.name}.log"
        yield Trial(argv, log, spec.env, doom_mark="Waiting for gres.conf file", limit_s=LIMIT_S)


def _one_of_each(nodes: tuple[SandboxNode, ...]) -> list[SandboxNode]:
    kinds = {(node.gpus, node.gpu_type): node for node in reversed(nodes) if node.gpus}
    return list(kinds.values())


def _run_apart(way: Way, home: Path, trials: list[Trial]) -> list[Ending]:
    """In namespaces of its own: same ports, same paths, nothing shared."""
    (home / "trials.json").write_text(json.dumps([asdict(trial) for trial in trials]))
    done = run_keeper_module("try", way, home, limit_s=sum(trial.limit_s + 1 for trial in trials))
    answer = json.loads(done.stdout or "null")
    if not isinstance(answer, list):
        raise Unavailable(f"The shadow controller could not be run: {answer or done.stderr.strip()}")
    return [Ending(entry["code"], entry["ready"], tuple(entry["lines"])) for entry in answer]


@contextmanager
def _throwaway(cluster: SandboxCluster) -> Iterator[Path]:
    """In the cluster's own directory: an overlay's upper layer may not lie on every file system."""
    cluster.home.mkdir(parents=True, exist_ok=True)
    sweep_shadows(cluster.home)
    home = make_passing(cluster.home, "shadow")
    try:
        yield home
    finally:
        _remove(home)


def sweep_shadows(home: Path) -> None:
    """Remove what shadows of the cluster left whose process was killed."""
    for left in left_behind(home, "shadow"):
        _remove(left)


def _remove(home: Path) -> None:
    remove_tree(home)
    remove_tree(sockets_of(home))


def _spare_ports() -> Ports:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(3)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return Ports(*(int(probe.getsockname()[1]) for probe in probes))
