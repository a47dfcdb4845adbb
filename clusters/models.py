"""Inventory, desired state, how it changes, and what was observed.

Desired state is `Revision.spec` alone. `Node` and `Partition` rows, and the `observed_*` fields of `Cluster`, are
written by the watcher only.
"""

import secrets
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from clusters import authority
from clusters import spec as specs
from clusters.finding import Finding, from_stored
from clusters.lifecycle import Status
from clusters.machine import LIVE, ChangeStatus, Kind, may_cancel
from clusters.nodes import Health
from clusters.platform import Platform, RegionRef, platform_named
from clusters.provisioner import ClusterRef, Provisioner, provisioner_named
from console.models import SLUG, Team


def _key() -> str:
    return f"c{secrets.token_hex(6)}"


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


class Cluster(models.Model):
    """A cluster's record. It outlives the cluster: a terminated one stays listed until it is deleted."""

    key = models.CharField(max_length=13, unique=True, default=_key, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="clusters")
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="clusters")
    slug = models.CharField(max_length=40, validators=[SLUG])
    status = models.CharField(
        max_length=12, choices=[(s.value, s.value) for s in Status], default=Status.CREATING
    )
    status_at = models.DateTimeField(auto_now_add=True)
    status_why = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    revision = models.ForeignKey("Revision", null=True, on_delete=models.PROTECT, related_name="+")
    ssh_ca = models.TextField(blank=True, editable=False)

    observed_at = models.DateTimeField(null=True)
    tried_at = models.DateTimeField(null=True)
    observed_problem = models.TextField(blank=True)
    observed_drift = models.TextField(blank=True)
    parts = models.JSONField(default=list)
    watch_token = models.CharField(max_length=32, blank=True)
    watch_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "slug"], condition=~Q(status=Status.DELETED), name="one_live_slug_per_team"
            )
        ]

    def __str__(self) -> str:
        return f"{self.team}/{self.slug}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A new cluster gets its SSH authority with its row, or neither comes to be."""
        with transaction.atomic():
            if self._state.adding and not self.ssh_ca:
                self.ssh_ca = authority.establish(self.key)
            super().save(*args, **kwargs)

    @property
    def ref(self) -> ClusterRef:
        return ClusterRef(
            self.key, self.slug, self.team.slug, self.region.config, self.ssh_ca, self.region.slug
        )

    @property
    def provisioner(self) -> Provisioner:
        return provisioner_named(self.region.provisioner, self.ref)

    def enter(self, status: Status, why: str = "") -> None:
        """Write a new status with its reason, and nothing else of the row."""
        self.status, self.status_at, self.status_why = status, timezone.now(), why
        self.save(update_fields=["status", "status_at", "status_why"])

    @property
    def spec(self) -> specs.ClusterSpec:
        """The current revision's spec, or the newest one while none has been committed yet."""
        revision = self.revision or self.revisions.latest("number")
        return revision.parsed


class Revision(models.Model):
    """One desired state, never changed. Numbers count from 1 in each cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    spec = models.JSONField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["cluster", "number"], name="one_revision_number")]

    def __str__(self) -> str:
        return f"{self.cluster} revision {self.number}"

    @property
    def parsed(self) -> specs.ClusterSpec:
        return specs.from_json(self.spec)


class Change(models.Model):
    """One journey of a cluster from a revision to another. At most one is live in a cluster: the database says so.

    `force` ends jobs that the platform would otherwise wait for. `time_left` is set while the change waits patiently
    (`Judgement.patient`) for what `waits_for` says: its clock stands, so there is no `deadline`.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="changes")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=12)
    status = models.CharField(
        max_length=14, choices=[(s.value, s.value) for s in ChangeStatus], default=ChangeStatus.PROPOSED
    )
    summary = models.CharField(max_length=200)
    base = models.ForeignKey(Revision, null=True, on_delete=models.PROTECT, related_name="+")
    revision = models.ForeignKey(Revision, null=True, on_delete=models.PROTECT, related_name="changes")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="changes"
    )
    at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    problems = models.JSONField(default=list)
    why = models.TextField(blank=True)
    force = models.BooleanField(default=False)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_token = models.CharField(max_length=32, blank=True)
    lease_until = models.DateTimeField(null=True)
    deadline = models.DateTimeField(null=True)
    time_left = models.DurationField(null=True)
    waits_for = models.TextField(blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "number"], name="one_change_number"),
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(status__in=sorted(LIVE)), name="one_live_change_per_cluster"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cluster} change {self.number}"

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def rests(self) -> bool:
        """Whether it waits for something that is no fault and may take long; no worker is held by it."""
        return self.is_live and self.time_left is not None

    @property
    def can_be_cancelled(self) -> bool:
        return self.cancelled_by_id is None and may_cancel(Kind(self.kind), ChangeStatus(self.status))


class ChangeLine(models.Model):
    """One sentence of a change's log. `tone` is ok, busy, warn or bad."""

    change = models.ForeignKey(Change, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField(auto_now_add=True)
    tone = models.CharField(max_length=4, default="ok")
    text = models.TextField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.text


class Node(models.Model):
    """A node as last seen. Memory is MiB."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    name = models.CharField(max_length=64)
    group = models.CharField(max_length=64)
    ordinal = models.PositiveIntegerField(default=0)
    machine = models.CharField(max_length=253, blank=True)
    state = models.CharField(max_length=40)
    health = models.CharField(max_length=10, choices=[(h.value, h.value) for h in Health])
    machine_state = models.TextField(blank=True)
    cpus = models.PositiveIntegerField()
    cpus_allocated = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField()
    memory_allocated_mib = models.PositiveIntegerField()
    gpus = models.PositiveSmallIntegerField()
    gpus_allocated = models.PositiveSmallIntegerField()
    partitions = models.JSONField(default=list)
    features = models.JSONField(default=list)
    reason = models.TextField(blank=True)
    reason_by = models.CharField(max_length=64, blank=True)
    reason_at = models.DateTimeField(null=True)
    boot_at = models.DateTimeField(null=True)
    version = models.CharField(max_length=20, blank=True)

    class Meta:
        ordering = ["-gpus", "group", "ordinal"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_node_name")]

    def __str__(self) -> str:
        return f"{self.machine} ({self.name})" if self.machine else self.name


class Partition(models.Model):
    """A partition as last seen on the controller; `fields` is the whole `scontrol show partition` record."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="observed_partitions")
    name = models.CharField(max_length=64)
    state = models.CharField(max_length=12)
    nodes = models.TextField(blank=True)
    is_default = models.BooleanField(default=False)
    total_nodes = models.PositiveIntegerField(default=0)
    total_cpus = models.PositiveIntegerField(default=0)
    fields = models.JSONField(default=dict)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_partition_name")]

    def __str__(self) -> str:
        return self.name
