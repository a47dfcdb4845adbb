"""Inventory, desired state, how it changes, and what was observed.

Desired state is `Revision.spec` alone. `Node` and `Partition` rows, and the `observed_*` fields of `Cluster`, are
written by the watcher only.
"""

from clusters.models.change import CHANGE_STATUSES, Change, ChangeLine, Operation, Revision
from clusters.models.cluster import Cluster, Grant
from clusters.models.cluster import new_key as _key
from clusters.models.observed import Node, Partition
from clusters.models.offers import Image, Plan, Region
from clusters.models.people import Identity, PersonalKey

__all__ = [
    "CHANGE_STATUSES",
    "Change",
    "ChangeLine",
    "Cluster",
    "Grant",
    "Identity",
    "Image",
    "Node",
    "Operation",
    "Partition",
    "PersonalKey",
    "Plan",
    "Region",
    "Revision",
    "_key",
]
