"""Storage classes: one for each controller's state, one that many machines can mount at once, and those of offers."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusters.finding import Finding, State
from console.words import listed
from slurm.kube.kinds import Thing

DEFAULT = "storageclass.kubernetes.io/is-default-class"
# An administrator's own word, which wins over what is known of provisioners.
SHARED = "quarterdeck.dev/read-write-many"
# Drivers whose volumes are always file systems that many machines mount, by their projects' documentation; and those
# that give block devices to one machine. Of the rest, some do both.
_MANY = (
    *(
        "nfs.csi.k8s.io",
        "cephfs.csi.ceph.com",
        "efs.csi.aws.com",
        "fsx.csi.aws.com",
        "filestore.csi.storage.gke.io",
    ),
    *("lustre.csi.storage.gke.io", "smb.csi.k8s.io", "csi.juicefs.com", "csi.weka.io", "csi.vastdata.com"),
    *("spectrumscale.csi.ibm.com", "beegfs.csi.netapp.com", "csi-isilon.dellemc.com"),
    *("azurelustre.csi.azure.com", "nfs.csi.storage.gke.io", "cluster.local/nfs-subdir-external-provisioner"),
)
_ONE = (
    *(
        "ebs.csi.aws.com",
        "pd.csi.storage.gke.io",
        "disk.csi.azure.com",
        "rbd.csi.ceph.com",
        "rancher.io/local-path",
    ),
    *("topolvm.io", "cinder.csi.openstack.org", "linstor.csi.linbit.com", "local.csi.openebs.io"),
)


@dataclass(frozen=True)
class Offered:
    """A kind of volume that the region offers. `storage_class` is empty where the settings' or the default is taken."""

    slug: str
    storage_class: str = ""
    is_dataset: bool = False


def state_finding(classes: Sequence[Thing], wanted: str, size: str) -> Finding:
    """Whether controllers get a volume for their state. `wanted` is the setting; empty takes the default."""
    names = [one["metadata"]["name"] for one in classes]
    title, key = "Storage for controllers", "storage"
    there = f"There are {listed(names)}." if names else "There is no storage class at all."
    if wanted and wanted not in names:
        hint = "Choose another in the settings, or make it."
        return Finding(key, title, State.BAD, f"There is no storage class {wanted}. {there}", hint)
    if wanted:
        return Finding(key, title, State.OK, f"Each controller keeps its state in {size} of {wanted}.")
    defaults = [one["metadata"]["name"] for one in classes if _says(one, DEFAULT) == "true"]
    if not defaults:
        first = names[0] if names else "NAME"
        mark = f"kubectl annotate storageclass {first} {DEFAULT}=true"
        hint = "Name one in the settings, or mark one as the default."
        return Finding(
            key, title, State.BAD, f"No storage class is the default. {there}", hint, commands=(mark,)
        )
    sentence = f"Each controller keeps its state in {size} of {defaults[0]}, the default."
    if len(defaults) > 1:
        several = f"{listed(defaults)} are all marked as the default; the newest is taken."
        return Finding(key, title, State.WARN, several, "Name one in the settings.")
    return Finding(key, title, State.OK, sentence)


def shared_finding(classes: Sequence[Thing]) -> Finding:
    """Whether volumes can be made that login node and workers mount together (ReadWriteMany)."""
    title, key = "Storage shared by machines", "shared-storage"
    known = {one["metadata"]["name"]: _is_shared(one) for one in classes}
    details = tuple(
        f"{one['metadata']['name']}: {one.get('provisioner', '')}, {_WORDS[known[one['metadata']['name']]]}"
        for one in classes
    )
    shared = [name for name, is_shared in known.items() if is_shared]
    if shared:
        return Finding(
            key, title, State.OK, f"{listed(shared)} can be mounted by many machines at once.", "", details
        )
    unclear = [name for name, is_shared in known.items() if is_shared is None]
    if unclear:
        return Finding(
            key,
            title,
            State.UNKNOWN,
            f"Whether many machines can mount {listed(unclear)} at once is not to be seen from outside.",
            "If you know that they can (ReadWriteMany), mark it yourself; false says that they cannot.",
            details,
            tuple(f"kubectl annotate storageclass {name} {SHARED}=true" for name in unclear[:3]),
        )
    return Finding(
        key,
        title,
        State.WARN,
        "No storage class can be mounted by many machines at once."
        if classes
        else "There is no storage class at all.",
        "Clusters work, but homes and data are not shared by their nodes. Add NFS, CephFS or the like.",
        details,
    )


def offers_finding(offers: Sequence[Offered], classes: Sequence[Thing], otherwise: str) -> Finding:
    """Whether what the region offers can be made here. `otherwise` is the settings' class; empty takes the default.

    A dataset is a volume that an administrator made, of no class: it shows when one is first mounted.
    """
    title, key = "Volumes on offer", "offers"
    if not offers:
        hint = "The admin site has them (Offers), each with a storage class."
        return Finding(key, title, State.OK, "None: clusters here keep files on their own nodes.", hint)
    by_name = {str(one["metadata"]["name"]): one for one in classes}
    default = next((name for name, one in by_name.items() if _says(one, DEFAULT) == "true"), "")
    states, details = [], []
    for one in offers:
        name = one.storage_class or otherwise or default
        state, words = (State.OK, "a dataset") if one.is_dataset else _offer(name, by_name.get(name))
        states.append(state)
        details.append(f"{one.slug}: {words}")
    for state in (State.WARN, State.UNKNOWN):
        if state in states:
            sentence = f"{details[states.index(state)]}."
            hint = "Give the offer another storage class on the admin site, or see to that one."
            return Finding(key, title, state, sentence, hint, tuple(details))
    return Finding(
        key, title, State.OK, f"{listed([one.slug for one in offers])} can be made here.", "", tuple(details)
    )


def _offer(name: str, one: Thing | None) -> tuple[State, str]:
    """Volumes are mounted by the login node and all workers at once, and may grow."""
    if one is None:
        return State.WARN, f"there is no storage class {name}" if name else "no storage class is the default"
    is_shared = _is_shared(one)
    if is_shared is False:
        return State.WARN, f"{name} is mounted by one machine at a time, so its volumes would never be ready"
    if not one.get("allowVolumeExpansion"):
        return State.WARN, f"volumes of {name} cannot grow (allowVolumeExpansion)"
    if is_shared is None:
        return State.UNKNOWN, f"whether many machines can mount {name} at once is not known"
    return State.OK, f"made of {name}"


_WORDS = {True: "many machines at once", False: "one machine at a time", None: "not known"}


def _is_shared(one: Thing) -> bool | None:
    said = _says(one, SHARED)
    if said in ("true", "false"):
        return said == "true"
    provisioner = str(one.get("provisioner", ""))
    if provisioner.endswith(_MANY):  # Rook's are prefixed with its namespace
        return True
    return False if provisioner.endswith(_ONE) else None


def _says(one: Thing, annotation: str) -> str:
    return str(one["metadata"].get("annotations", {}).get(annotation, ""))
