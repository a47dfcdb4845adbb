"""Volumes for `tests.seed`: two in use, one in use to read, one that no cluster mounts, and one that cannot be made."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from clusters.models import Cluster, Region
from clusters.spec import Mount, to_json
from console.models import Team
from storage.kinds import Kind, Phase
from storage.models import Offer, Volume

OFFERS = (
    {"slug": "flash", "name": "All-flash Lustre", "kind": Kind.PFS, "price_per_gib_month": "0.14"},
    {"slug": "standard", "name": "Shared NFS", "kind": Kind.SFS, "price_per_gib_month": "0.06"},
    {"slug": "imagenet", "name": "ImageNet 21k", "kind": Kind.DATASET, "source": "imagenet"},
)
# Name, offer, size in GiB, used in GiB, where the busy cluster has it.
VOLUMES = (
    ("homes", "standard", 500, 212.4, "/home"),
    ("checkpoints", "flash", 20_480, 14_950, "/shared"),
    ("imagenet-21k", "imagenet", 1400, 1331, "/data/imagenet"),
    ("sweeps-2029", "standard", 2048, 1911, ""),
)


def make_volumes(team: Team, region: Region, cluster: Cluster) -> None:
    """Once; the cluster's current revision gets the mounts."""
    settings.VOLUME_STORES["nowhere"] = "tests.storage.fake_store.FakeStore"
    for offer in OFFERS:
        Offer.objects.get_or_create(region=region, slug=offer["slug"], defaults={**offer, "most_gib": 65_536})
    now = timezone.now()
    mounts = []
    for name, offer, size, used, path in VOLUMES:
        volume = _volume(team, region, name, offer, size)
        orphan_since = None if path else now - timedelta(days=41)
        seen = {"phase": Phase.READY, "used_bytes": int(used * 2**30), "seen_gib": size, "seen_at": now}
        Volume.objects.filter(pk=volume.pk).update(orphan_since=orphan_since, **seen)
        if path:
            mounts.append(Mount(volume.key, name, path, read_only=volume.is_dataset))
    broken = _volume(team, region, "burst", "flash", 4096)
    why = "The quota of quarterdeck-research is used up: 20480Gi of requests.storage."
    Volume.objects.filter(pk=broken.pk).update(phase=Phase.FAILED, phase_why=why, orphan_since=now)
    assert cluster.revision
    spec = cluster.spec.with_mounts(tuple(sorted(mounts, key=lambda mount: mount.path)))
    cluster.revision.spec = to_json(spec)
    cluster.revision.save(update_fields=["spec"])


def _volume(team: Team, region: Region, name: str, offer: str, size: int) -> Volume:
    made_of = region.offers.get(slug=offer)
    fields = {"region": region, "offer": made_of, "kind": made_of.kind, "size_gib": size}
    return Volume.objects.get_or_create(team=team, slug=name, defaults=fields)[0]
