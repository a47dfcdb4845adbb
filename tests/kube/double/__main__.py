"""Run the double until it is told to end: `python -m tests.kube.double --kubeconfig FILE --home DIR`."""

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from console.errors import Unavailable
from slurm.provisioners.sandbox.images import IMAGES, Tree
from tests.kube.double.operator import Double
from tests.kube.double.shims import write_shims
from tests.kube.double.trees import slurm_tree


def main() -> int:
    options = _options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    try:
        tree = None if options.no_daemons else _tree(options.image)
    except Unavailable as refusal:
        print(f"{refusal.message} {refusal.hint}", file=sys.stderr)
        return 1
    if options.shims:
        write_shims(options.shims)
    namespaces = [name for name in options.namespaces.split(",") if name]
    kubeconfig = options.kubeconfig.read_text()
    with Double(kubeconfig, options.home.resolve(), tree=tree, namespaces=namespaces, keep=options.keep):
        print("ready", flush=True)
        ending.wait()
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.double", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True, help="rooms, volumes and switches.json")
    parser.add_argument("--namespaces", default="", help="only these, by comma; otherwise all")
    parser.add_argument(
        "--shims", type=Path, help="write the commands of pods/exec here (first in kwok's PATH)"
    )
    parser.add_argument(
        "--image", choices=sorted(IMAGES), help="otherwise 26.05 where it can be had, else 24.11"
    )
    parser.add_argument("--no-daemons", action="store_true", help="pods alone, no Slurm behind them")
    parser.add_argument("--keep", action="store_true", help="leave the rooms for the next run")
    return parser.parse_args()


def _tree(image: str | None) -> Tree:
    return slurm_tree(print, (image,) if image else ())


if __name__ == "__main__":
    sys.exit(main())
