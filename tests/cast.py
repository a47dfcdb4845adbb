"""The people and clusters of the tests: Ada owns, Ben operates, Cy views, Mo is a member, Dee is a
stranger."""

from dataclasses import dataclass

from django.conf import settings

from clusters.lifecycle import Status
from clusters.models import Cluster, Image, Node, Plan, Region
from clusters.spec import ClusterSpec, NodeGroup, PartitionSpec, Shape, to_json
from console.models import Membership, Team, User
from console.roles import Role
from tests.fakes import FakeProvisioner

GPU_SHAPE = Shape("gpu-8x", cpus=64, memory_mib=512_000, gpus=8, gpu_model="h100")
CPU_SHAPE = Shape("cpu-16", cpus=16, memory_mib=64_000)
ROLES = {"ada": Role.OWNER, "ben": Role.OPERATOR, "cy": Role.VIEWER, "mo": Role.MEMBER}


@dataclass(frozen=True)
class Cast:
    """Memberships of team `research`; Dee has none there."""

    team: Team
    ada: Membership
    ben: Membership
    cy: Membership
    mo: Membership
    dee: User


def the_cast(team: str = "research") -> Cast:
    """Makes them, once for each test."""
    research = Team.objects.create(slug=team, name=team.capitalize())
    members = {
        name: Membership.objects.create(team=research, user=person(name), role=role)
        for name, role in ROLES.items()
    }
    return Cast(team=research, dee=person("dee"), **members)


def person(name: str) -> User:
    return User.objects.get_or_create(username=name, defaults={"email": f"{name}@example.org"})[0]


def tiny_spec(name: str = "tiny", *, nodes: int = 2, cpu_nodes: int = 1, **fields: object) -> ClusterSpec:
    """Two GPU workers, one CPU worker, one own partition."""
    groups = [NodeGroup("slinky", GPU_SHAPE, tuple(range(nodes)))]
    if cpu_nodes:
        groups.append(NodeGroup("cpu-workers", CPU_SHAPE, tuple(range(cpu_nodes))))
    fields.setdefault("partitions", (PartitionSpec("debug", "slinky-0", max_time_minutes=60),))
    return ClusterSpec(name=name, image="slurm-24-11", slurm_version="24.11", groups=tuple(groups), **fields)  # type: ignore[arg-type]


def the_region(**config: object) -> Region:
    """A region of fake clusters, with its plans and the image."""
    settings.PROVISIONERS["fake"] = "tests.fakes.FakeProvisioner"
    settings.PLATFORMS["fake"] = "tests.fake_platform.FakePlatform"
    region, _ = Region.objects.get_or_create(
        slug="lab", defaults={"name": "Lab", "provisioner": "fake", "config": config}
    )
    for shape in (GPU_SHAPE, CPU_SHAPE):
        Plan.objects.get_or_create(
            region=region,
            slug=shape.plan,
            defaults={
                "name": shape.plan,
                "gpu_model": shape.gpu_model,
                "gpus": shape.gpus,
                "cpus": shape.cpus,
                "memory_mib": shape.memory_mib,
                "most_nodes": 1024,
            },
        )
    Image.objects.get_or_create(
        slug="slurm-24-11", defaults={"name": "Slurm 24.11", "slurm_version": "24.11", "source": "trixie"}
    )
    return region


def tiny_cluster(team: Team, *, status: Status = Status.RUNNING, spec: ClusterSpec | None = None) -> Cluster:
    """A cluster that was created a while ago: revision 1 is current and runs on the fake platform."""
    spec = spec or tiny_spec()
    cluster = Cluster.objects.create(team=team, region=the_region(), slug=spec.name, status=status)
    cluster.revision = cluster.revisions.create(number=1, spec=to_json(spec))
    cluster.save()
    fake(cluster).apply(spec, lambda text: None)
    return cluster


def big_cluster(team: Team, nodes: int = 512) -> Cluster:
    return tiny_cluster(team, spec=tiny_spec("big", nodes=nodes))


def a_node(cluster: Cluster, name: str, **fields: object) -> Node:
    """A row as the watcher would write it: an idle node of eight GPUs."""
    group, _, ordinal = name.rpartition("-")
    values = {"group": group, "ordinal": int(ordinal), "state": "idle", "health": "ok"}
    has = {"cpus": 64, "memory_mib": 512_000, "gpus": 8}
    allocated = {"cpus_allocated": 0, "memory_allocated_mib": 0, "gpus_allocated": 0}
    return cluster.nodes.create(name=name, **{**values, **has, **allocated, **fields})


def fake(cluster: Cluster) -> FakeProvisioner:
    """The cluster's platform, to script or to break."""
    provisioner = cluster.provisioner
    assert isinstance(provisioner, FakeProvisioner)
    return provisioner
