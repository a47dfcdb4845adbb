"""A rig in the foreground, for development: `python -m tests.kube.rig DIRECTORY`. Ctrl-C stops it; its data stays."""

import fcntl
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.kube.rig.build import build
from tests.kube.rig.go import CannotBuild
from tests.kube.rig.rig import Rig

READY = """
  Kubernetes API {url}, ready in {seconds:.1f} s
  kubeconfig     {kubeconfig}

It has {nodes} nodes that kwok pretends to have, {volumes} shared volumes and the definitions of slurm-operator's kinds,
but no operator. `make run` beside it shows it as a region. Ctrl-C stops it; the next start finds its objects again.
"""
VOLUMES = 40


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 with one line when it cannot be had here."""
    if len(arguments) != 1:
        print("usage: python -m tests.kube.rig DIRECTORY", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve(Path(arguments[0]).resolve())
    except KeyboardInterrupt:
        return 0
    except (CannotBuild, OSError, RuntimeError) as problem:
        print(f"quarterdeck: no Kubernetes API here: {problem}", file=sys.stderr)
        return 1
    return 0


def serve(root: Path) -> None:
    """Until interrupted, or until one of its programs ends by itself."""
    programs = build(print)
    began = time.monotonic()
    with only_one(root):
        run(Rig(root, programs), began)


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


def run(rig: Rig, began: float) -> None:
    try:
        rig.start()
        nodes = [*rig.add_nodes(12, "gpu-node", gpus=8), *rig.add_nodes(4, "cpu-node")]
        rig.wait_nodes_ready(nodes)
        rig.add_volumes(VOLUMES)
        say_ready(rig, len(nodes), time.monotonic() - began)
        while True:
            time.sleep(1)
            rig.check()
    finally:
        rig.stop()
        rig.place.admin_kubeconfig.unlink(missing_ok=True)  # where it is, an API answers


def say_ready(rig: Rig, nodes: int, seconds: float) -> None:
    place = rig.place
    words = {"url": place.api_url, "kubeconfig": place.admin_kubeconfig, "nodes": nodes, "volumes": VOLUMES}
    print(READY.format(seconds=seconds, **words), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
