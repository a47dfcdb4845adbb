"""The Kubernetes client of a region, made once a process.

Each call reads the sealed kubeconfig's row (one small query) and opens it only when it is not the one that was opened
before, so that a new kubeconfig is used at once by every process.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from console import secrets
from slurm.kube.access import Access, read_kubeconfig
from slurm.kube.client import Kube
from slurm.kube.in_cluster import in_cluster
from slurm.provisioners.slinky.region import KUBECONFIG, RegionSettings


@dataclass(frozen=True)
class _Kept:
    # A forked child must not speak on its parent's connections.
    process: int
    known_by: object
    kube: Kube


_kept: dict[str, _Kept] = {}
_lock = threading.Lock()


def kube_of(region_slug: str, settings: RegionSettings) -> Kube:
    """Quick: connects with the first request. Raises Missing without a kubeconfig, Unavailable when it cannot be
    opened, Rejected when it cannot be used."""
    if settings.in_cluster:
        access = in_cluster()
        return _kept_or_made(region_slug, access, lambda: access)
    owner = f"region:{region_slug}"
    return _kept_or_made(region_slug, secrets.mark(owner, KUBECONFIG), partial(_opened, owner))


def _kept_or_made(region_slug: str, known_by: object, access: Callable[[], Access]) -> Kube:
    with _lock:
        kept = _kept.get(region_slug)
        if kept and kept.process == os.getpid() and kept.known_by == known_by:
            return kept.kube
        kube = Kube(access())
        _kept[region_slug] = _Kept(os.getpid(), known_by, kube)
        return kube


def _opened(owner: str) -> Access:
    return read_kubeconfig(secrets.get(owner, KUBECONFIG).decode())
