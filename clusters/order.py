"""From what a person orders (names of a plan, an image, how many) to the `ClusterSpec` that is stored.

The create form, Clone and the API all come through `spec_for`, so a cluster made by any of them is the same.
"""

from dataclasses import dataclass

from clusters.inventory import offers
from clusters.models import Image, Plan, Region
from clusters.spec import CPU_GROUP, GPU_GROUP, ClusterSpec, Logins, Mount, NodeGroup, PartitionSpec
from console.errors import Problem, Rejected


@dataclass(frozen=True)
class Order:
    """Slugs and counts as typed. An empty plan or a count of 0 leaves that group out. `login_users` of None is on where
    the region's platform has such; `homes` is the path of the mount that they are on."""

    name: str
    region: str
    image: str
    gpu_plan: str = ""
    gpu_nodes: int = 0
    cpu_plan: str = ""
    cpu_nodes: int = 0
    ssh_keys: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    login_users: bool | None = None
    homes: str = ""


def spec_for(order: Order) -> tuple[Region, ClusterSpec]:
    """Look the slugs up and write the spec down. Raises Rejected with one problem for each field that does not fit."""
    problems: list[Problem] = []
    region = Region.objects.filter(slug=order.region, enabled=True).first()
    image = Image.objects.filter(slug=order.image, enabled=True).first()
    if region is None:
        problems.append(Problem("region", f"There is no region {order.region!r}.", "Choose one of the list."))
    elif image is not None and not offers(region, image):
        problems.append(Problem("image", f"{image.name} does not run in {region.slug}.", "Choose another."))
    if image is None:
        problems.append(Problem("image", f"There is no image {order.image!r}.", "Choose one of the list."))
    groups = [
        group
        for group in (
            _group(region, GPU_GROUP, order.gpu_plan, order.gpu_nodes, "gpu", problems),
            _group(region, CPU_GROUP, order.cpu_plan, order.cpu_nodes, "cpu", problems),
        )
        if group is not None
    ]
    if not groups and not problems:
        problems.append(
            Problem("gpu_nodes", "A cluster needs at least one worker.", "Ask for one GPU or CPU node.")
        )
    if problems or region is None or image is None:
        raise Rejected(f"The cluster {order.name} was not created.", tuple(problems))
    return region, ClusterSpec(
        name=order.name,
        image=image.slug,
        slurm_version=image.slurm_version,
        groups=tuple(groups),
        region_partitions=tuple(PartitionSpec(name=p["name"], nodes=p["nodes"]) for p in region.partitions),
        slurm_conf=image.slurm_conf,
        ssh_keys=order.ssh_keys,
        mounts=order.mounts,
        logins=_logins(region, order),
    )


def _logins(region: Region, order: Order) -> Logins:
    """Whom `clusters.changes.create_cluster` puts into it is not known before."""
    is_on = order.login_users if order.login_users is not None else not region.platform.logins().why_not
    return Logins(on=is_on, homes=order.homes if is_on else "")


def _group(
    region: Region | None, name: str, slug: str, count: int, field: str, problems: list[Problem]
) -> NodeGroup | None:
    if not slug or count == 0:
        return None
    plan = Plan.objects.filter(region=region, slug=slug).first()
    if plan is None:
        problems.append(
            Problem(f"{field}_plan", f"There is no plan {slug!r} here.", "Choose one of the list.")
        )
    elif not 0 < count <= plan.most_nodes:
        problems.append(
            Problem(
                f"{field}_nodes",
                f"Ask for 1 to {plan.most_nodes} nodes of {slug}.",
                "The region has no more.",
            )
        )
    elif (plan.gpus > 0) != (name == GPU_GROUP):
        problems.append(
            Problem(f"{field}_plan", f"{slug} is a plan for the other kind of worker.", "Choose another.")
        )
    else:
        return NodeGroup(name=name, shape=plan.shape, ordinals=tuple(range(count)))
    return None
