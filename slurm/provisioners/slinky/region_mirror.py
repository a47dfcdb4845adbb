"""The mirror of a region: one for each process that reads it, whatever the number of clusters.

Which labels select what is ours (slurm-operator v1.2.1, internal/builder, and the objects that it was seen to make):
- Our own objects carry `managed-by: quarterdeck`. Controller, Accounting, RestApi, LoginSet and NodeSet hand their
  labels on to the template of their pods, so pods carry it, too.
- Whether StatefulSets, Deployments and the ConfigMap with slurm.conf carry the labels of what they were made of
  changed between operator releases (1.0: no; main: yes). All releases name the daemon in `app.kubernetes.io/name`, so
  that selects them; a MariaDB of ours is a StatefulSet under our own label.
- Nodes and Events carry no label of anybody's: all nodes, and the warnings of our namespaces.
"""

import threading

from slurm.kube.follow import Wanted
from slurm.kube.kinds import (
    ACCOUNTING,
    CONFIG_MAP,
    CONTROLLER,
    DEPLOYMENT,
    EVENT,
    LOGIN_SET,
    NODE,
    NODE_SET,
    POD,
    REST_API,
    STATEFUL_SET,
)
from slurm.kube.mirror import Mirror
from slurm.provisioners.slinky.names import MANAGED_BY, MANAGER
from slurm.provisioners.slinky.region import RegionSettings
from slurm.provisioners.slinky.region_kube import kube_of

_OURS = f"{MANAGED_BY}={MANAGER}"
_OPERATORS = "app.kubernetes.io/name in (slurmctld,slurmdbd,slurmrestd,login)"
WANTED = (
    *(Wanted(kind, labels=_OURS) for kind in (CONTROLLER, ACCOUNTING, REST_API, LOGIN_SET, NODE_SET, POD)),
    *(Wanted(kind, labels=_OURS) for kind in (STATEFUL_SET, CONFIG_MAP)),
    *(Wanted(kind, labels=_OPERATORS) for kind in (STATEFUL_SET, DEPLOYMENT, CONFIG_MAP)),
    Wanted(NODE),
    Wanted(EVENT, fields="type=Warning"),
)

_mirrors: dict[str, tuple[str, Mirror]] = {}
_lock = threading.Lock()


def mirror_of(region_slug: str, settings: RegionSettings) -> Mirror:
    """Started with its first use, again after a new kubeconfig; it stops when nobody has read it for five minutes.

    Quick; raises what `kube_of` raises.
    """
    kube, prefix = kube_of(region_slug, settings), f"{settings.namespace_prefix}-"
    with _lock:
        known_prefix, mirror = _mirrors.get(region_slug, ("", None))
        if mirror and mirror.kube is kube and known_prefix == prefix and not mirror.is_stopped:
            return mirror
        if mirror:
            mirror.stop()
        mirror = Mirror(kube, WANTED, lambda namespace: namespace.startswith(prefix))
        mirror.start()
        _mirrors[region_slug] = (prefix, mirror)
        return mirror
