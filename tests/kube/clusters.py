"""Clusters of the Slinky adapter on a rig: the adapter with an administrator's client, and its platform for the
contract."""

import os
import signal
import time
from dataclasses import dataclass
from functools import cached_property

from clusters.platform import RegionRef
from clusters.ref import ClusterRef
from clusters.spec import Mount
from slurm.kube.client import Kube
from slurm.kube.kinds import NAMESPACE
from slurm.kube.mirror import Mirror
from slurm.provisioners.sandbox.space import keeper_pid
from slurm.provisioners.slinky.adapter import Slinky
from slurm.provisioners.slinky.region_mirror import WANTED
from slurm.provisioners.slinky.site import Site
from slurm.provisioners.slinky.volumes import SlinkyVolumes
from storage.kinds import Kind
from storage.models import new_key
from storage.store import VolumeRef
from tests.contracts.platforms import Platform, on_login
from tests.kube.double.operator import Double

TEAM = "research"
CA = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx1nbbnTTcJrl6bOkP1zCFLhW0vAc1Y3Vd5cY1Wbbbb quarterdeck test"


@dataclass(frozen=True)
class RigSite(Site):
    """A site whose region is the rig: its kubeconfig is in no database."""

    client: Kube

    @cached_property
    def kube(self) -> Kube:  # type: ignore[override]
        return self.client

    @cached_property
    def mirror(self) -> Mirror:  # type: ignore[override]
        """One for each adapter; it stops by itself when it is not read any more."""
        made = Mirror(self.client, WANTED, lambda namespace: namespace == self.names.namespace)
        made.start()
        return made


class RigVolumes(SlinkyVolumes):
    """The volumes of a region that is the rig."""

    def __init__(self, region: RegionRef, client: Kube) -> None:
        super().__init__(region)
        self.client = client

    @property
    def kube(self) -> Kube:
        return self.client


def slinky_on(kube: Kube, prefix: str, key: str = "ccontract0001", **config: object) -> Slinky:
    """An adapter in the namespace `<prefix>-research`; `config` as in `Region.config`."""
    ref = ClusterRef(key, "contract", TEAM, {"namespace_prefix": prefix, **config}, CA, "rig")
    made = Slinky(ref)
    made.site = RigSite(ref, kube)
    return made


def remove_namespace(kube: Kube, name: str, within_s: float = 60.0) -> None:
    kube.delete(NAMESPACE, name)
    give_up = time.monotonic() + within_s
    while kube.find(NAMESPACE, name) is not None:
        assert time.monotonic() < give_up, f"{name} is not gone within {within_s:g} s"
        time.sleep(0.2)


class SlinkyPlatform(Platform):
    """The adapter against a real API server, the double of the operator, and real Slurm behind its pods."""

    bad_line = "SchedulerType=sched/nonsense"
    # The catalogue takes any plugin name here; Slurm's own commands end of it when they read the file.
    deadly_line = "PrologFlags=NoSuchFlag"
    heals_itself = True
    # A whole cluster of daemons, its operator and an API server share one machine's processors.
    settles_within_s = 180.0

    def __init__(self, provisioner: Slinky, double: Double) -> None:
        super().__init__(provisioner)
        self.double, self.site = double, provisioner.site

    def a_volume(self) -> Mount:
        ref = VolumeRef(new_key(), "shared", TEAM, Kind.SFS, 1)
        volumes = RigVolumes(RegionRef("rig", self.site.ref.region), self.site.client)
        volumes.keep(ref)
        return Mount(ref.key, ref.name, "/shared")

    def _on_login(self, script: str) -> str:
        return on_login(self.double.room_home(self.site.names.namespace, self.site.names.base), script)

    def fall_over(self) -> None:
        home = self.double.room_home(self.site.names.namespace, self.site.names.base)
        pid = keeper_pid(home)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        give_up = time.monotonic() + 10
        while keeper_pid(home) == pid:
            assert time.monotonic() < give_up
            time.sleep(0.02)
