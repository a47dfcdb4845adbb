"""What there is of a sandbox cluster on this machine, and what there should be by its spec: files, processes, ports,
mounts, nodes, users, programs. Compared as two dictionaries, so that a difference reads by itself.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from clusters.models import Change
from clusters.spec import ClusterSpec
from slurm.client import Slurm
from slurm.provisioners.sandbox.adapter import Sandbox
from slurm.provisioners.sandbox.apply import APPLYING, good_files
from slurm.provisioners.sandbox.daemons import specs_of
from slurm.provisioners.sandbox.layout import COPIES, read_slurm_files
from slurm.provisioners.sandbox.people import identity_files
from slurm.provisioners.sandbox.ports import FIXED, _is_free, _read
from slurm.provisioners.sandbox.processes import MARK
from slurm.provisioners.sandbox.running_images import PARTS, images_in
from slurm.provisioners.sandbox.sessions import strays
from slurm.provisioners.sandbox.space import KEEPER, keeper_pid, keeping, run_inside
from slurm.provisioners.sandbox.upgrade import SAVED
from slurm.readback import unlike

# One of each runs; slurmctld has a helper of its own, which goes by another name.
ONCE = ("munged", "mariadbd", "slurmdbd", "slurmctld", "sshd")
PASSING = (".shadow-*", ".memory-*", ".building-*", ".files.*", "**/.*.new", APPLYING, f"{SAVED}/.*")
LOOKED_INTO = ("conf", "keeper", "ssh", "munge")
IDENTITIES = ("/etc/passwd", "/etc/group", "/etc/sudoers")


def wanted(sandbox: Sandbox, spec: ClusterSpec) -> dict[str, object]:
    files = dict(sandbox.render(spec))
    cluster = sandbox._cluster(spec)
    return {
        "files": dict.fromkeys((*COPIES, "good"), files),
        "unlike": (),
        "daemons": {daemon.name: _mounts_of(daemon) for daemon in specs_of(cluster)},
        "states": dict.fromkeys(spec.node_names, {"up"}),
        "partitions": {p.name for p in (*spec.platform_partitions, *spec.partitions)},
        "listening": {*FIXED, *(f"node:{name}" for name in spec.node_names)},
        "spool": set(spec.node_names),
        "machines": {*spec.node_names, f"{cluster.name}-login"},
        "images": dict.fromkeys(PARTS, spec.slurm_version),
        "versions": {spec.slurm_version},
        "identities": {name: identity_files(cluster)[name] for name in IDENTITIES},
        "strays on the login node": [],
        "running": Counter({**dict.fromkeys(ONCE, 1), "slurmd": len(spec.node_names)}),
        # The keeper and every daemon have mounts of their own.
        "mount namespaces": len(specs_of(cluster)) + 1,
        **NOTHING_LEFT,
    }


NOTHING_LEFT: dict[str, object] = {"keepers": 1, "strays": [], "passing": [], "host mounts": [], "leases": 0}


def found(sandbox: Sandbox, spec: ClusterSpec) -> dict[str, object]:
    home, slurm, state = sandbox.home, Slurm(sandbox.executor()), keeping(sandbox.home)
    seen, config = slurm.nodes(), slurm.config()
    nodes = {node.name: _word(node.state.base, node.state.flags) for node in seen}
    keeper = keeper_pid(sandbox.home) or 0
    inside = _namespace(keeper, "pid")
    daemons = [pid for pid in _pids() if _namespace(pid, "pid") == inside and _comm(pid) in (*ONCE, "slurmd")]
    return {
        "files": {
            **{copy: read_slurm_files(home / "conf" / copy) for copy in COPIES},
            "good": good_files(home),
        },
        "unlike": tuple(unlike(spec.slurm_conf, config)),
        "daemons": {daemon.name: daemon.mounts for daemon in state.daemons} if state else {},
        "states": nodes,
        "partitions": {partition.name for partition in slurm.partitions()},
        "listening": listening(home),
        "spool": {path.name for path in (home / "spool").iterdir()},
        "machines": {path.name for path in (home / "machines").iterdir()},
        "images": {part: image for part, image in images_in(home).items() if part in PARTS},
        "versions": {version[:5] for version in (config["SLURM_VERSION"], *(node.version for node in seen))},
        "identities": {name: run_inside(home, ["cat", name]).stdout for name in IDENTITIES},
        "strays on the login node": strays(sandbox._cluster(spec)),
        "running": Counter(map(_comm, daemons)),
        "mount namespaces": len({_namespace(pid, "mnt") for pid in (keeper, *daemons)}),
        **left(home),
    }


def left(home: Path) -> dict[str, object]:
    """What no killed process may leave, whatever the cluster is."""
    keeper = keeper_pid(home)
    inside = _namespace(keeper, "pid") if keeper else ""
    return {
        "keepers": len(keepers(home)),
        "strays": [_line(pid) for pid in _marked(home) if _namespace(pid, "pid") != inside],
        "passing": passing(home),
        "host mounts": [m for m in Path("/proc/self/mounts").read_text().splitlines() if f"{home}/" in m],
        "leases": Change.objects.filter(lease_until__isnull=False).count(),
    }


def passing(home: Path) -> list[str]:
    """Files and directories that are there for a moment only."""
    top = [path for pattern in PASSING for path in home.glob(pattern.removeprefix("**/"))]
    below = [path for name in LOOKED_INTO for path in (home / name).glob("**/.*.new")]
    return [str(path.relative_to(home)) for path in (*top, *below)]


def listening(home: Path) -> set[str]:
    """The names of the cluster's ports on which somebody listens."""
    return {name for name, port in _read(home).items() if not _is_free(port)}


def nothing_of(home: Path) -> dict[str, object]:
    """For a cluster that has ended; equal to `NOTHING_RUNS`."""
    return {**left(home), "listening": listening(home)}


NOTHING_RUNS = {**NOTHING_LEFT, "keepers": 0, "listening": set()}


def _mounts_of(daemon: object) -> tuple[tuple[str, str, bool], ...]:
    machine = daemon.machine  # type: ignore[attr-defined]
    return tuple((p.source, p.path, p.read_only) for p in machine.volumes) if machine else ()


def _word(base: str, flags: frozenset[str]) -> set[str]:
    """`up` for a node that takes jobs and answers, whatever runs on it."""
    return flags - {"CLOUD"} or ({"up"} if base in ("IDLE", "MIXED", "ALLOCATED") else {base})


def _marked(home: Path) -> Iterator[int]:
    """Processes that were started for the cluster, its keeper included."""
    mark = f"{MARK}={home}".encode()
    ours = keepers(home)
    for pid in _pids():
        if pid in ours or mark in _bytes(pid, "environ").split(b"\0"):
            yield pid


def keepers(home: Path) -> list[int]:
    """Whatever runs of the keeper's program for this directory, or for a shadow in it."""
    name = os.fsencode(home)
    found = {pid: _bytes(pid, "cmdline").split(b"\0") for pid in _pids()}
    return [
        pid
        for pid, words in found.items()
        if KEEPER.encode() in words
        and any(word == name or word.startswith(name + b"/.shadow") for word in words)
    ]


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _bytes(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _comm(pid: int) -> str:
    return _bytes(pid, "comm").decode(errors="replace").strip()


def _line(pid: int) -> str:
    return _bytes(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")


def _namespace(pid: int, kind: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return ""
