"""What a region offers: where clusters can live, on which machines, from which images."""

from django.db import models

from clusters import spec as specs
from clusters.finding import Finding, from_stored
from clusters.platform import Platform, RegionRef, platform_named
from console.models import SLUG


class Region(models.Model):
    """Where clusters can live. `config` is the adapter's own.

    `partitions` lists `{"name", "nodes"}` that every cluster gets; `nodes` names a group. `readiness` is what
    `clusters.regions.check` found, and nobody else writes it.
    """

    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    name = models.CharField(max_length=100)
    provisioner = models.CharField(max_length=20)
    config = models.JSONField(default=dict, blank=True)
    partitions = models.JSONField(default=list, blank=True)
    enabled = models.BooleanField(default=True)
    readiness = models.JSONField(default=list, blank=True, editable=False)
    readiness_at = models.DateTimeField(null=True, editable=False)
    readiness_asked_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return self.slug

    @property
    def platform(self) -> Platform:
        """Raises Missing for a kind that this console does not have."""
        return platform_named(self.provisioner, RegionRef(self.slug, self.config))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return from_stored(self.readiness)


class Plan(models.Model):
    """A machine's shape and price in one region. `gpus` is per node; a plan without GPUs is for `cpu-workers`."""

    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="plans")
    slug = models.CharField(max_length=40, validators=[SLUG])
    name = models.CharField(max_length=100)
    gpu_model = models.CharField(max_length=40, blank=True)
    gpus = models.PositiveSmallIntegerField(default=0)
    cpus = models.PositiveSmallIntegerField()
    memory_mib = models.PositiveIntegerField()
    fabric = models.CharField(max_length=60, blank=True)
    price_per_hour = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    most_nodes = models.PositiveSmallIntegerField(default=16)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["region", "slug"], name="one_plan_slug_per_region")]

    def __str__(self) -> str:
        return f"{self.slug} in {self.region}"

    @property
    def shape(self) -> specs.Shape:
        return specs.Shape(self.slug, self.cpus, self.memory_mib, self.gpus, self.gpu_model)


class Image(models.Model):
    """A Slurm stack. `source` is the adapter's name for it (a Debian suite on the sandbox).

    `slurm_conf` is what a new cluster's own part of slurm.conf starts with.
    """

    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    name = models.CharField(max_length=100)
    slurm_version = models.CharField(max_length=10)
    source = models.CharField(max_length=100)
    slurm_conf = models.TextField(blank=True)
    enabled = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.slug
