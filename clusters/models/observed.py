"""What was last seen of a cluster. Written by the watcher only."""

from django.db import models

from clusters.models.cluster import Cluster
from clusters.nodes import Health


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
