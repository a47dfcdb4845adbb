"""A Kubernetes for development in the foreground: `python -m tests.kube [--api-alone] DIRECTORY`.

The rig, and the double of slurm-operator, so that clusters can be made in it. Ctrl-C stops all; what it held stays in
the directory for the next start.
"""

import argparse
import fcntl
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kube.rig.build import build
from tests.kube.rig.go import CannotBuild
from tests.kube.rig.process import Process
from tests.kube.rig.rig import Rig

READY = """
  Kubernetes API  {url}, ready in {seconds:.1f} s
  kubeconfig      {kubeconfig}
  holds           {nodes} invented nodes, {volumes} shared volumes, the definitions of slurm-operator's kinds
  slurm-operator  {operator}

`make run`, started now, shows it as a region beside this machine. Ctrl-C stops it and keeps what it holds.
"""
VOLUMES = 40


def main() -> int:
    """Exit status 1 with one line when it cannot be had here."""
    parser = argparse.ArgumentParser(prog="python -m tests.kube", description="A Kubernetes for development.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--api-alone", action="store_true", help="without the double of slurm-operator")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve(options.directory.resolve(), with_operator=not options.api_alone)
    except KeyboardInterrupt:
        return 0
    except (CannotBuild, OSError, RuntimeError) as problem:
        print(f"quarterdeck: no Kubernetes API here: {problem}", file=sys.stderr)
        return 1
    return 0


def serve(root: Path, *, with_operator: bool) -> None:
    """Until interrupted, or until one of the rig's programs ends by itself."""
    programs = build(print)
    began = time.monotonic()
    with only_one(root):
        rig = Rig(root, programs)
        operator = double(rig) if with_operator else None
        try:
            nodes = start(rig)
            if operator:
                operator.start()
            say_ready(rig, nodes, operator, time.monotonic() - began)
            watch(rig)
        finally:
            if operator:
                operator.stop(within_s=30)
            rig.stop()
            rig.place.admin_kubeconfig.unlink(missing_ok=True)  # where it is, an API answers


@contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Two in one directory would write over each other. Raises RuntimeError for the second."""
    root.mkdir(parents=True, exist_ok=True)
    with open(root / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(f"one runs in {root} already") from None
        yield


def start(rig: Rig) -> int:
    """The rig with nodes and volumes; how many nodes."""
    rig.start()
    nodes = [*rig.add_nodes(12, "gpu-node", gpus=8), *rig.add_nodes(4, "cpu-node")]
    rig.wait_nodes_ready(nodes)
    rig.add_volumes(VOLUMES)
    return len(nodes)


def double(rig: Rig) -> Process:
    place = rig.place
    files = [
        f"--kubeconfig={place.admin_kubeconfig}",
        f"--home={place.root / 'double'}",
        f"--shims={place.shims}",
    ]
    argv = [sys.executable, "-m", "tests.kube.double", "--keep", *files]
    return Process("the double of slurm-operator", argv, place.log("double"))


def watch(rig: Rig) -> None:
    while True:
        time.sleep(1)
        rig.check()


def say_ready(rig: Rig, nodes: int, operator: Process | None, seconds: float) -> None:
    place = rig.place
    log = place.log("double")
    words = {
        "url": place.api_url,
        "kubeconfig": place.admin_kubeconfig,
        "operator": f"its double of the tests, with real Slurm behind the pods; see {log}"
        if operator
        else "none",
    }
    print(READY.format(seconds=seconds, nodes=nodes, volumes=VOLUMES, **words), flush=True)


if __name__ == "__main__":
    sys.exit(main())
