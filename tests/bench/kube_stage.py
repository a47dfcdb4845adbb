"""The stage of the Kubernetes measurement: a rig, the double of slurm-operator without daemons, clusters on it.

What Slurm says comes from files, through `pods/exec` like every command: kwok's Exec object of a controller's pod leads
to a script that prints them. Everything else is the product's and Kubernetes' own.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.jobs_page import queue_answer
from tests.kube.double.kinds import EXEC
from tests.kube.double.kubelet import ENTER, of_pod
from tests.kube.double.shims import write_shims
from tests.kube.double.workers import HOSTNAME as HOSTNAME
from tests.kube.rig.build import Build
from tests.kube.rig.process import Process
from tests.kube.rig.rig import Rig

REGION, PREFIX = "bench", "bench"
CLUSTERS_IN_A_TEAM = 4
JOBS = 200
# Room for the clusters that are created while all is measured.
SPARE = 8
FIELD, RECORD = "@field@", "@record@"
# Sourced by a shim with the words of the command line in $@: `timeout ... env -i ... sh -c ...`. What the environment
# says of PATH is left out, so that the commands below are found.
ENTERED = """\
for word; do
  case $word in sh|scontrol|squeue) break ;; esac
  shift
done
PATH=@at@/bin:/usr/bin:/bin
export PATH
exec "$@"
"""
SCONTROL = """\
#!/bin/sh
case "$*" in
  "-a -o show nodes") exec cat @at@/nodes ;;
  "-a -o show partitions") exec cat @at@/partitions ;;
esac
echo "not in the script: scontrol $*" >&2
exit 1
"""
SQUEUE = """\
#!/bin/sh
for format; do :; done
first=${format%%,*}
exec sed "s/@field@/${first#*:}/g;s/@record@/${format##*:}/g" @at@/queue
"""


@dataclass(frozen=True)
class Size:
    """`workers` are those of one cluster."""

    pods: int = 1000
    clusters: int = 20

    @property
    def workers(self) -> int:
        return self.pods // self.clusters

    @property
    def machines(self) -> int:
        """The operator wants a machine for each worker of a namespace, which is a team's."""
        return self.workers * min(self.clusters, CLUSTERS_IN_A_TEAM) + SPARE


@contextmanager
def standing(size: Size, root: Path, programs: Build) -> Iterator[Rig]:
    """The rig with machines and volumes, and the double; ended afterwards."""
    with ExitStack() as stack:
        rig = Rig(root, programs)
        stack.callback(rig.stop)
        rig.start()
        rig.wait_nodes_ready(rig.add_nodes(size.machines, "machine", gpus=8))
        rig.add_volumes(2 * (size.clusters + SPARE))
        write_shims(rig.place.shims)
        double = _double(rig)
        stack.callback(double.stop)
        double.start()
        yield rig


def _double(rig: Rig) -> Process:
    place = rig.place
    files = [f"--kubeconfig={place.admin_kubeconfig}", f"--home={place.root / 'double'}"]
    argv = [sys.executable, "-m", "tests.kube.double", "--no-daemons", *files]
    return Process("the double of slurm-operator", argv, place.log("double"))


# Clusters


def make_region(kubeconfig: str):  # type: ignore[no-untyped-def]
    from clusters.models import Image, Plan, Region
    from console import secrets
    from slurm.provisioners.slinky.region import KUBECONFIG

    config = {"namespace_prefix": PREFIX, "shadow_pods": False}
    region = Region.objects.create(slug=REGION, name="Bench", provisioner="slinky", config=config)
    Plan.objects.create(
        region=region,
        slug="gpu",
        name="gpu",
        gpu_model="h100",
        gpus=1,
        cpus=2,
        memory_mib=4000,
        most_nodes=1024,
    )
    Image.objects.get_or_create(
        slug="slurm", defaults={"name": "Slurm", "slurm_version": "26.05", "source": "sid"}
    )
    secrets.put(f"region:{REGION}", KUBECONFIG, kubeconfig.encode())
    return region


def spec_of(name: str, workers: int):  # type: ignore[no-untyped-def]
    from clusters.spec import ClusterSpec, NodeGroup, Shape

    shape = Shape("gpu", cpus=2, memory_mib=4000, gpus=1, gpu_model="h100")
    group = NodeGroup("slinky", shape, tuple(range(workers)))
    return ClusterSpec(name=name, image="slurm", slurm_version="26.05", groups=(group,))


def make_clusters(size: Size, region) -> list:  # type: ignore[no-untyped-def,type-arg]
    """Rows of clusters that run."""
    from clusters.lifecycle import Status
    from clusters.models import Cluster
    from clusters.spec import to_json
    from console.models import Team

    made = []
    for n in range(size.clusters):
        team, _ = Team.objects.get_or_create(slug=f"team-{n // CLUSTERS_IN_A_TEAM}")
        spec = spec_of(f"bench-{n}", size.workers)
        cluster = Cluster.objects.create(team=team, region=region, slug=spec.name, status=Status.RUNNING)
        cluster.revision = cluster.revisions.create(number=1, spec=to_json(spec))
        cluster.save()
        made.append(cluster)
    return made


def bring_up(rig: Rig, clusters: Sequence, within_s: float) -> None:  # type: ignore[type-arg]
    """Until every pod of every cluster is ready: the adapter's apply, stage after stage."""
    give_up, waiting = time.monotonic() + within_s, list(clusters)
    while waiting:
        rig.check()
        if time.monotonic() > give_up:
            raise TimeoutError(f"{len(waiting)} clusters are not ready within {within_s:g} s")
        for cluster in waiting:
            cluster.provisioner.apply(cluster.revision.parsed, lambda text: None)
        time.sleep(1)
        waiting = [cluster for cluster in waiting if not _is_ready(cluster)]


def _is_ready(cluster) -> bool:  # type: ignore[no-untyped-def]
    from clusters.observation import PartState
    from slurm.provisioners.slinky.sight import SERVICES, parts_of

    parts = parts_of(cluster.provisioner.site.sight())
    wanted = len(SERVICES) + len(cluster.revision.parsed.node_names)
    return len(parts) == wanted and all(part.state is PartState.UP for part in parts)


def give_answers(rig: Rig, root: Path, clusters: Sequence, workers: int) -> None:  # type: ignore[type-arg]
    """What Slurm says in each controller's pod."""
    for cluster in clusters:
        names = cluster.provisioner.site.names
        at = root / names.base
        _write_answers(at, workers)
        pod = rig.api.get(f"/api/v1/namespaces/{names.namespace}/pods/{names.controller_pod}")
        envs = [{"name": ENTER, "value": str(at / "enter")}]
        thing = of_pod(
            EXEC, {**pod, "apiVersion": "v1", "kind": "Pod"}, {"execs": [{"local": {"envs": envs}}]}
        )
        rig.api.create(EXEC.path(names.namespace), thing)


def _write_answers(at: Path, workers: int) -> None:
    from tests.bench.setting import nodes_answer

    (at / "bin").mkdir(parents=True)
    nodes = f"slinky-[0-{workers - 1}]"
    (at / "nodes").write_bytes(nodes_answer(workers))
    (at / "partitions").write_text(
        f"PartitionName=all State=UP Nodes={nodes} Default=YES TotalCPUs={2 * workers} TotalNodes={workers}\n"
    )
    (at / "queue").write_bytes(queue_answer(JOBS, FIELD, RECORD))
    (at / "enter").write_text(ENTERED.replace("@at@", str(at)))
    for name, script in (("scontrol", SCONTROL), ("squeue", SQUEUE)):
        command = at / "bin" / name
        command.write_text(script.replace("@at@", str(at)))
        command.chmod(0o755)


def environment() -> dict[str, str]:
    """For processes of the console: this one's, with the database in which it measures."""
    from urllib.parse import urlsplit

    from django.conf import settings
    from django.db import connection

    url, name = urlsplit(settings.DATABASE_URL), connection.settings_dict["NAME"]
    return {**os.environ, "DATABASE_URL": f"{url.scheme}://{url.netloc}/{name}?{url.query}"}
