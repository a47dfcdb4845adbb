"""Desired state and its journeys: revisions, changes with their logs, and operations."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from clusters import spec as specs
from clusters.machine import LIVE, STOPPABLE, ChangeStatus, Kind, may_cancel
from clusters.models.cluster import Cluster

CHANGE_STATUSES = [(status.value, status.value) for status in ChangeStatus]


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
    """One journey of a cluster from a revision to another. At most one is live in a cluster, and one more may be
    scheduled (`clusters.schedule`): the database says so.

    `force` ends jobs that the platform would otherwise wait for. `impact` is what was promised when a person last
    said yes to it (`clusters.impact`); `is_confirmed` is a yes to more that no worker has heard yet. `time_left` is
    set while the change waits patiently (`Judgement.patient`) for what `waits_for` says: its clock stands, so there
    is no `deadline`. `rested` is how long it did so in all. `resumes` are nodes that take jobs again once the change
    holds, each with the reason for which it was out as that was asked for. A
    scheduled change starts at `start_at`, or, `when_idle`, when nothing runs any more that it would end. `course` is
    what a restart starts anew, and how far it has come (`clusters.rolling`). `takes_along`: its base is who signs in by
    now, asked for while it waited, and is not on the cluster yet (`clusters.along`).
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="changes")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=12)
    status = models.CharField(max_length=14, choices=CHANGE_STATUSES, default=ChangeStatus.PROPOSED)
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
    impact = models.JSONField(null=True)
    begun_at = models.DateTimeField(null=True)
    rests_since = models.DateTimeField(null=True)
    rested = models.DurationField(default=timedelta)
    start_at = models.DateTimeField(null=True)
    is_confirmed = models.BooleanField(default=False)
    resumes = models.JSONField(default=dict)
    when_idle = models.BooleanField(default=False)
    course = models.JSONField(default=dict)
    takes_along = models.BooleanField(default=False)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "number"], name="one_change_number"),
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(status__in=sorted(LIVE)), name="one_live_change_per_cluster"
            ),
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(status=ChangeStatus.SCHEDULED),
                name="one_scheduled_change_per_cluster",
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
    def can_be_forced(self) -> bool:
        """Whether it waits for jobs that can be ended instead."""
        waits = self.rests and self.status in (ChangeStatus.APPLYING, ChangeStatus.OBSERVING)
        return waits and not self.force and self.kind in STOPPABLE

    @property
    def can_be_cancelled(self) -> bool:
        return self.cancelled_by_id is None and may_cancel(Kind(self.kind), ChangeStatus(self.status))


class Operation(models.Model):
    """A restart or reboot that was ordered to be done at once, kept for how long it took (`clusters.lasting`).

    `targets` are names of the parts that start anew, or their kinds. `ended_at` is None until all of them are up again.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="operations")
    sort = models.CharField(max_length=40)
    targets = models.JSONField(default=list)
    begun_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["cluster", "sort", "-begun_at"], name="operations_by_sort")]

    def __str__(self) -> str:
        return f"{self.sort} of {self.cluster}"


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
