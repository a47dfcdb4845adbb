"""Volumes of a Kubernetes region: one PersistentVolumeClaim each, in the team's namespace. Nothing is kept here.

A claim's name comes from the volume's key, so that neither a new name nor another cluster moves it. Claims belong to
no cluster: nobody owns them in Kubernetes' sense, and deleting clusters leaves them alone.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import msgspec

from clusters.platform import RegionRef
from console.errors import Rejected, Unavailable
from slurm.kube.client import Kube
from slurm.kube.kinds import CLAIM, NAMESPACE, Thing
from slurm.provisioners.slinky.files import team_namespace
from slurm.provisioners.slinky.names import (
    MANAGED_BY,
    MANAGER,
    TEAM_LABEL,
    VOLUME_LABEL,
    claim_of,
    namespace_of,
)
from slurm.provisioners.slinky.pods import is_leaving, labels
from slurm.provisioners.slinky.region import RegionSettings, settings_of
from slurm.provisioners.slinky.region_kube import kube_of
from storage.kinds import Kind, Phase
from storage.store import VolumeRef, VolumeSeen

# Kubernetes quantities (resource.Quantity), as far as storage is written in them.
QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?")
UNITS = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50,
}  # fmt: skip
# Kubernetes itself looks first whether a pod uses the claim.
GONE_WITHIN_S, LOOK_AGAIN_S = 5.0, 0.2
UNBOUND = (
    "No volume has been provided for its claim yet; some storage classes do that when it is first mounted."
)


class SlinkyVolumes:
    """Those of one region."""

    def __init__(self, region: RegionRef) -> None:
        self.region = region

    @cached_property
    def settings(self) -> RegionSettings:
        try:
            return settings_of(self.region.config)
        except msgspec.ValidationError as error:
            raise Unavailable(f"The settings of {self.region.slug} cannot be read: {error}.") from error

    @property
    def kube(self) -> Kube:
        return kube_of(self.region.slug, self.settings)

    def keep(self, volume: VolumeRef) -> None:
        namespace = namespace_of(volume.team, self.settings.namespace_prefix)
        self._keep_namespace(namespace, volume.team)
        found = self.kube.find(CLAIM, claim_of(volume.key), namespace)
        if found is not None and asked_gib(found) >= volume.size_gib:
            return
        self.kube.apply(claim(volume, namespace, self.settings))

    def look(self, volumes: Sequence[VolumeRef]) -> Mapping[str, VolumeSeen]:
        """One request for each team that has volumes here."""
        seen: dict[str, VolumeSeen] = {}
        for team in dict.fromkeys(volume.team for volume in volumes):
            namespace = namespace_of(team, self.settings.namespace_prefix)
            claims = {labels(one)[VOLUME_LABEL]: one for one in self._claims(namespace)}
            seen |= {volume.key: seen_of(claims.get(volume.key)) for volume in volumes if volume.team == team}
        return seen

    def remove(self, volume: VolumeRef) -> None:
        """Kubernetes keeps a claim until the last pod with it has ended."""
        namespace, name = namespace_of(volume.team, self.settings.namespace_prefix), claim_of(volume.key)
        self.kube.delete(CLAIM, name, namespace)
        give_up = time.monotonic() + GONE_WITHIN_S
        while self.kube.find(CLAIM, name, namespace) is not None:
            if time.monotonic() > give_up:
                raise Unavailable(f"A pod of {namespace} still uses the claim {name}.", "It goes with that.")
            time.sleep(LOOK_AGAIN_S)

    def _claims(self, namespace: str) -> Sequence[Thing]:
        return self.kube.list(CLAIM, namespace, labels=VOLUME_LABEL).items

    def _keep_namespace(self, name: str, team: str) -> None:
        """One that is there is not written: not every Role allows it."""
        found = self.kube.find(NAMESPACE, name)
        if found is None:
            self.kube.apply(team_namespace(name, team))
        elif labels(found).get(TEAM_LABEL, team) != team:
            raise Rejected(
                f"The namespace {name} belongs to the team {labels(found)[TEAM_LABEL]}.",
                hint="Give one of the regions on this API server another namespace prefix.",
            )


def claim(volume: VolumeRef, namespace: str, settings: RegionSettings) -> Thing:
    """Pure. A dataset takes one volume by its name, which an administrator made, and no class (an empty one keeps the
    default class from providing another)."""
    spec: dict[str, Any] = {
        "accessModes": ["ReadOnlyMany" if volume.kind is Kind.DATASET else "ReadWriteMany"],
        "resources": {"requests": {"storage": f"{volume.size_gib}Gi"}},
    }
    if volume.kind is Kind.DATASET and volume.source:
        spec |= {"storageClassName": "", "volumeName": volume.source}
    elif name := volume.storage_class or settings.storage_class:
        spec["storageClassName"] = name
    marks = {MANAGED_BY: MANAGER, TEAM_LABEL: volume.team, VOLUME_LABEL: volume.key}
    metadata = {"name": claim_of(volume.key), "namespace": namespace, "labels": marks}
    return {"apiVersion": CLAIM.api_version, "kind": CLAIM.name, "metadata": metadata, "spec": spec}


def seen_of(found: Thing | None) -> VolumeSeen:
    """Pure. The phases are core/v1 PersistentVolumeClaimPhase."""
    if found is None:
        return VolumeSeen(Phase.LOST, why="Its claim is not there any more.")
    status = found.get("status") or {}
    capacity = (status.get("capacity") or {}).get("storage")
    size = gib(str(capacity)) if capacity else None
    if is_leaving(found):
        return VolumeSeen(Phase.LOST, size, why="Somebody has deleted its claim; it goes with its last pod.")
    if status.get("phase") == "Bound":
        return VolumeSeen(Phase.READY, size, why=next(_resizing(status), ""))
    if status.get("phase") == "Lost":
        return VolumeSeen(Phase.LOST, size, why="The volume behind its claim is gone.")
    return VolumeSeen(Phase.PENDING, why=UNBOUND)


def _resizing(status: Mapping[str, Any]) -> Iterator[str]:
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("message"):
            yield str(condition["message"])


def asked_gib(found: Thing) -> int:
    """What a claim asks for."""
    requests = ((found.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return gib(str(requests.get("storage", "0")))


def gib(quantity: str) -> int:
    """Whole GiB in a quantity of storage; 0 for what is none."""
    found = QUANTITY.fullmatch(quantity)
    return int(Decimal(found[1]) * UNITS[found[2] or ""] // 2**30) if found else 0
