"""Whether jobs of a cluster may run in container images, told by the cluster's own srun.

Pyxis, which has Enroot run them, adds its options to srun and sbatch where both are installed; `srun --help` then names
them (github.com/NVIDIA/pyxis). So the login node is asked, and what it does not offer is not offered here either. The
answer is kept in this process for some minutes: it changes with an image.
"""

import time
from typing import NamedTuple

from clusters.lifecycle import Status
from clusters.models import Cluster
from console.errors import ConsoleError

OPTION = "--container-image"
LIMIT_S = 2.0
KEPT_S, RETRY_S = 600.0, 20.0


class _Answer(NamedTuple):
    has_them: bool | None
    until: float


_answers: dict[tuple[str, str], _Answer] = {}


def has_containers(cluster: Cluster) -> bool | None:
    """None while the login node does not say, or is not to be there. Blocks for two seconds at most, and rarely."""
    if cluster.status != Status.RUNNING:
        return None
    key = _key(cluster)
    kept = _answers.get(key)
    if kept is None or kept.until < time.monotonic():
        found = _ask(cluster)
        kept = _answers[key] = _Answer(found, time.monotonic() + (RETRY_S if found is None else KEPT_S))
    return kept.has_them


def known_containers(cluster: Cluster) -> bool | None:
    """The same without asking: what was found when somebody opened the page."""
    kept = _answers.get(_key(cluster))
    return kept.has_them if kept else None


def _key(cluster: Cluster) -> tuple[str, str]:
    return cluster.key, cluster.spec.image


def _ask(cluster: Cluster) -> bool | None:
    try:
        done = cluster.provisioner.login_executor().run(["srun", "--help"], timeout_s=LIMIT_S)
    except ConsoleError:
        return None
    return OPTION.encode() in done.stdout if done.code == 0 else None
