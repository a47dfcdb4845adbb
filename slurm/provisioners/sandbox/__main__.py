"""Try a sandbox cluster by hand: `python -m slurm.provisioners.sandbox up|down|status|exec --dir D [-- command]`.

For developers. It makes the same cluster as the console's demo, with a plain slurm.conf of its own.
"""

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from console.errors import ConsoleError
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxMount, SandboxNode
from slurm.provisioners.sandbox.images import DEFAULT_IMAGE, HOST_PREFIX, IMAGES, Tree
from slurm.provisioners.sandbox.layout import platform_lines
from slurm.provisioners.sandbox.ports import ports_of
from slurm.provisioners.sandbox.space import can_make_rooms, command_prefix, keeping, stop_keeper
from slurm.provisioners.sandbox.start import start_cluster
from slurm.provisioners.sandbox.tree import Steps, build_tree

SAMPLE = """\
DefMemPerCPU=100
SchedulerParameters=bf_interval=5,sched_interval=5
JobAcctGatherFrequency=10
SlurmctldTimeout=30
SlurmdTimeout=60
KillWait=5
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def sample_cluster(home: Path, tree: Tree, gpu_nodes: int = 4, cpu_nodes: int = 2) -> SandboxCluster:
    """Four GPU workers and two CPU workers by default; `home`'s name is the cluster's."""
    names = [f"slinky-{n}" for n in range(gpu_nodes)] + [f"cpu-workers-{n}" for n in range(cpu_nodes)]
    ports, node_ports = ports_of(home, names)
    nodes = tuple(
        SandboxNode(name, 8, 64000, 8 if name.startswith("slinky") else 0, node_ports[name]) for name in names
    )
    key = Path.home() / ".ssh/id_ed25519.pub"
    keys = (key.read_text(),) if key.exists() else ()
    return SandboxCluster(home.name, home, tree, ports, nodes, public_keys=keys)


def sample_files(cluster: SandboxCluster) -> dict[str, str]:
    return {"slurm.conf": platform_lines(cluster) + SAMPLE}


def main() -> int:
    options = _options()
    home = Path(options.dir).resolve()
    mounts = tuple(_mount(text) for text in options.mount)
    try:
        if options.action == "up":
            return _up(home, options.image, mounts)
        if options.action == "down":
            stop_keeper(home)
        elif options.action == "status":
            return _status(home)
        else:
            return subprocess.run([*command_prefix(home), *options.command], check=False).returncode
    except ConsoleError as error:
        print(f"{error.message} {error.hint}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m slurm.provisioners.sandbox", description=__doc__)
    parser.add_argument("action", choices=["up", "down", "status", "exec"])
    parser.add_argument("--dir", required=True)
    parser.add_argument("--image", choices=sorted(IMAGES))
    parser.add_argument(
        "--mount",
        action="append",
        default=[],
        help="NAME:PATH or NAME:PATH:ro, of `volumes` beside the directory",
    )
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    options.command = words[split + 1 :] or ["bash", "-l"]
    return options


def _mount(text: str) -> SandboxMount:
    name, path, *mode = text.split(":")
    return SandboxMount(name, path, read_only=mode == ["ro"])


def _up(home: Path, image_name: str | None, mounts: tuple[SandboxMount, ...]) -> int:
    refusal = can_make_rooms()
    if refusal:
        print(f"namespaces are refused ({refusal}): using this machine's own release without them")
    image = IMAGES[image_name or DEFAULT_IMAGE] if not refusal else HOST_PREFIX
    tree = build_tree(image)
    steps = Steps(print)
    cluster = sample_cluster(home, tree)
    cluster = replace(cluster, mounts=mounts, volumes=home.with_name("volumes"))
    for mount in mounts:
        (home.with_name("volumes") / mount.volume).mkdir(parents=True, exist_ok=True)
    with steps.step(f"Slurm {tree.slurm_version} with {len(cluster.nodes)} nodes is up in {home}"):
        start_cluster(cluster, sample_files(cluster))
    return _status(home)


def _status(home: Path) -> int:
    state = keeping(home)
    if state is None:
        print("down")
        return 1
    print(f"keeper {state.pid} ({state.form})")
    for daemon in state.daemons:
        print(f"  {daemon.name:24} {daemon.state:12} pid {daemon.pid or '-':>6}  restarts {daemon.restarts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
