"""A cluster, and what members may do there beyond their role in the team."""

import secrets
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from clusters import authority
from clusters import spec as specs
from clusters.lifecycle import Status
from clusters.models.offers import Region
from clusters.provisioner import ClusterRef, Provisioner, provisioner_named
from console.models import SLUG, Membership, Team
from console.roles import Role


def new_key() -> str:
    return f"c{secrets.token_hex(6)}"


class Cluster(models.Model):
    """A cluster's record. It outlives the cluster: a terminated one stays listed until it is deleted."""

    key = models.CharField(max_length=13, unique=True, default=new_key, editable=False)
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


class Grant(models.Model):
    """A role of one member on one cluster, on top of the team's: the higher of both counts. It ends with the
    membership."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="grants")
    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=10, choices=[(role.value, role.value) for role in Role])
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "membership"], name="one_grant_per_member")]

    def __str__(self) -> str:
        return f"{self.role} on {self.cluster}"
