"""Volumes, and what kinds of them a region offers.

What a volume should be is `slug`, `size_gib` and `deleted_at`; `phase` and the other `seen_*` fields are written by
`storage.tending` alone. Where it is mounted stands in the clusters' specs and nowhere else (`storage.attachments`).
"""

import secrets
from decimal import Decimal

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from clusters.models import Region
from clusters.platform import RegionRef
from console.models import SLUG, Team
from storage.kinds import TITLES, Kind, Phase, Status, status_of
from storage.store import VolumeRef, VolumeStore, store_of

MOST_GIB = 1_048_576


def new_key() -> str:
    return f"v{secrets.token_hex(6)}"


class Offer(models.Model):
    """A kind of volume that a region offers. `storage_class` is the platform's name for what it is made of.

    `source` of a dataset names its files: a PersistentVolume, or a directory of the sandbox's `datasets`.
    """

    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="offers")
    slug = models.CharField(max_length=40, validators=[SLUG])
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=8, choices=[(kind.value, TITLES[kind]) for kind in Kind])
    storage_class = models.CharField(max_length=253, blank=True)
    source = models.CharField(max_length=253, blank=True)
    price_per_gib_month = models.DecimalField(max_digits=8, decimal_places=4, null=True, blank=True)
    most_gib = models.PositiveIntegerField(
        default=10_240, validators=[MinValueValidator(1), MaxValueValidator(MOST_GIB)]
    )

    class Meta:
        ordering = ["region", "slug"]
        constraints = [models.UniqueConstraint(fields=["region", "slug"], name="one_offer_slug_per_region")]

    def __str__(self) -> str:
        return f"{self.slug} in {self.region}"

    @property
    def is_dataset(self) -> bool:
        return self.kind == Kind.DATASET

    @property
    def price(self) -> str:
        """`0.14`: without zeros that say nothing."""
        price = self.price_per_gib_month
        return "" if price is None else f"{Decimal(price).normalize():f}"


class Volume(models.Model):
    """A team's files in one region. They outlive every cluster."""

    key = models.CharField(max_length=13, unique=True, default=new_key, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="volumes")
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="volumes")
    offer = models.ForeignKey(Offer, null=True, on_delete=models.SET_NULL, related_name="volumes")
    slug = models.CharField(max_length=40, validators=[SLUG])
    kind = models.CharField(max_length=8, choices=[(kind.value, TITLES[kind]) for kind in Kind])
    storage_class = models.CharField(max_length=253, blank=True)
    source = models.CharField(max_length=253, blank=True)
    size_gib = models.PositiveIntegerField(validators=[MinValueValidator(1), MaxValueValidator(MOST_GIB)])
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    phase = models.CharField(max_length=8, choices=[(p.value, p.value) for p in Phase], blank=True)
    phase_why = models.TextField(blank=True)
    seen_gib = models.PositiveIntegerField(null=True)
    used_bytes = models.PositiveBigIntegerField(null=True)
    seen_at = models.DateTimeField(null=True)
    orphan_since = models.DateTimeField(null=True)

    class Meta:
        ordering = ["slug"]
        constraints = [models.UniqueConstraint(fields=["team", "slug"], name="one_volume_slug_per_team")]

    def __str__(self) -> str:
        return f"{self.team}/{self.slug}"

    @property
    def status(self) -> Status:
        return status_of(
            Phase(self.phase),
            is_going=self.deleted_at is not None,
            wanted_gib=self.size_gib,
            seen_gib=self.seen_gib,
        )

    @property
    def is_dataset(self) -> bool:
        return self.kind == Kind.DATASET

    @property
    def ref(self) -> VolumeRef:
        return VolumeRef(
            self.key,
            self.slug,
            self.team.slug,
            Kind(self.kind),
            self.size_gib,
            self.storage_class,
            self.source,
        )

    @property
    def store(self) -> VolumeStore:
        """Raises Missing for a region that keeps no volumes."""
        return store_of(self.region.provisioner, RegionRef(self.region.slug, self.region.config))


def about_volume(volume: Volume) -> str:
    """`PFS, 500 GiB`, `dataset, read-only`."""
    if volume.is_dataset:
        return "dataset, read-only"
    return f"{Kind(volume.kind).name if volume.kind != Kind.WEKA else 'Weka'}, {volume.size_gib} GiB"
