"""What the sandbox needs of this machine: a tree of Slurm's packages, namespaces, and room on the disk."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from django.conf import settings

from clusters.finding import Finding, State
from clusters.models import Image as OfferedImage
from clusters.platform import LoginsHere, RegionRef
from clusters.region_form import RegionForm
from console.words import listed
from slurm.provisioners.sandbox.apart import Way, lack, way
from slurm.provisioners.sandbox.images import HOST_PREFIX, IMAGES
from slurm.provisioners.sandbox.likeness import volumes_home
from slurm.provisioners.sandbox.ranges import user_name
from slurm.provisioners.sandbox.space import can_make_rooms
from slurm.provisioners.sandbox.tree import NEEDED_MIB, cache_home, cached_tree
from slurm.provisioners.sandbox.volumes import DATASETS, has_dataset
from storage.kinds import Kind
from storage.models import Offer

# Below it a cluster's logs, accounting and jobs' files soon meet a full disk.
LITTLE_MIB = 2048


class SandboxPlatform:
    """This machine. A region of it has no settings and no secret."""

    title: ClassVar[str] = "This machine (sandbox)"
    about: ClassVar[str] = (
        "Genuine Slurm as ordinary processes beside the console, with invented machines and declared GPUs. "
        "To try things out."
    )
    form: ClassVar[type[RegionForm]] = RegionForm

    def __init__(self, ref: RegionRef) -> None:
        self.ref = ref

    def readiness(self) -> tuple[Finding, ...]:
        why_no_rooms = can_make_rooms()
        people = () if why_no_rooms else (_people(),)
        return (
            _namespaces(why_no_rooms),
            *people,
            *_trees(bool(why_no_rooms)),
            _disk(),
            *_datasets(self.ref),
        )

    def offers(self, slurm_version: str) -> bool:
        return slurm_version in IMAGES

    def mount_caveat(self) -> str:
        if not can_make_rooms():
            return ""
        return (
            "This machine makes no namespaces, so mounts are links only: /shared is mounts/shared below the cluster's "
            "own directory, the same for every node, and read-only is not enforced."
        )

    def logins(self) -> LoginsHere:
        if can_make_rooms():
            return LoginsHere(
                "Its machine makes no namespaces, so clusters there have this machine's own users and nobody else's."
            )
        if way() is Way.ONE and (found := lack()):
            name = user_name()
            return LoginsHere(
                caveat="This console does not run as root and has no numbers for login users, so every one is "
                f"{name} to the system: names, homes and keys are each one's own, but jobs run as {name}, everybody "
                f"can read all files, and sudo does nothing. {found.why} {found.hint}"
            )
        return LoginsHere()

    def documents(self) -> Mapping[str, str]:
        return {}


def _namespaces(why_not: str) -> Finding:
    if not why_not:
        sentence = "Each cluster gets users, files and volumes of its own at their true paths."
        return Finding("namespaces", "Namespaces", State.OK, sentence)
    return Finding(
        "namespaces",
        "Namespaces",
        State.WARN,
        f"This kernel or user may not make them: {why_not}.",
        "Clusters then run this machine's own Slurm in place and imitate the rest. "
        "Allow unprivileged user namespaces, or run the console as root.",
    )


def _people() -> Finding:
    key, title = "people", "Login users"
    if way() is Way.ONE and (found := lack()):
        sentence = f"All login users' jobs run as {user_name()}: {found.why}"
        return Finding(key, title, State.WARN, sentence, found.hint)
    return Finding(key, title, State.OK, "Each has a number, files and jobs of their own.")


def _trees(is_host_only: bool) -> Iterator[Finding]:
    """One for each Slurm version that is offered here."""
    offered = sorted(set(OfferedImage.objects.filter(enabled=True).values_list("slurm_version", flat=True)))
    for version in ["host"] if is_host_only else [version for version in offered if version in IMAGES]:
        image = HOST_PREFIX if version == "host" else IMAGES[version]
        title = "Slurm of this machine's release" if version == "host" else f"Slurm {version}"
        tree = cached_tree(image)
        yield (
            Finding(
                f"tree-{version}",
                title,
                State.OK,
                f"Version {tree.slurm_version} is unpacked in {tree.root}.",
            )
            if tree
            else Finding(
                f"tree-{version}",
                title,
                State.UNKNOWN,
                "Its packages are not here yet.",
                "The first cluster that wants it fetches them, which takes about 15 s and needs a Debian mirror.",
            )
        )


def _disk() -> Finding:
    free_mib = min(_free_mib(Path(settings.VAR_DIR)), _free_mib(cache_home()))
    sentence = f"{free_mib / 1024:.1f} GiB are free for clusters and packages."
    if free_mib < NEEDED_MIB:
        return Finding(
            "disk", "Disk", State.BAD, sentence, f"Clear some: packages alone need {NEEDED_MIB} MiB."
        )
    if free_mib < LITTLE_MIB:
        return Finding(
            "disk", "Disk", State.WARN, sentence, "That is little. Clear some before jobs meet its end."
        )
    return Finding("disk", "Disk", State.OK, sentence)


def _datasets(ref: RegionRef) -> Iterator[Finding]:
    """Whether the files of each dataset on offer are there. Other volumes are made when somebody asks for one."""
    offered = Offer.objects.filter(region__slug=ref.slug, kind=Kind.DATASET).values_list("source", flat=True)
    if not offered:
        return
    missing = sorted(source for source in offered if not has_dataset(source))
    title, key = "Datasets", "datasets"
    if missing:
        sentence = f"There are no files of {listed(missing)}."
        hint = f"Lay them in {volumes_home() / DATASETS}, each in a directory by its name."
        yield Finding(key, title, State.WARN, sentence, hint)
    else:
        yield Finding(key, title, State.OK, f"The files of {listed(sorted(offered))} are here.")


def _free_mib(path: Path) -> int:
    """On the file system of `path`, which need not exist yet. The root always does."""
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    return shutil.disk_usage(there).free // 2**20
