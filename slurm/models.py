"""Jobs as last seen, and who submitted which through the console.

`Job` rows are written by the watcher only (`slurm.watch`). They stay after a job has ended, so that the
recent history needs no call to the cluster.
"""

from django.conf import settings
from django.db import models

from clusters.models import Cluster
from console.models import Team

IS_WAITING = models.ExpressionWrapper(models.Q(state="PENDING"), output_field=models.BooleanField())


class Job(models.Model):
    """One record of the queue or of the recent history.

    `key` is stable while a record lives: `12`, `12_3` for a task, `12_[]` for the part of an array that still
    waits (whose `job_id`, `12_[4-9%2]`, shrinks as tasks start). 22.05 reuses numbers, so the submit time is
    part of the key.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="jobs")
    key = models.CharField(max_length=40)
    submit_at = models.DateTimeField()
    number = models.PositiveBigIntegerField()
    job_id = models.TextField()
    array_number = models.PositiveBigIntegerField(null=True)
    task_count = models.PositiveIntegerField(default=1)
    name = models.TextField(blank=True)
    user = models.CharField(max_length=64)
    account = models.CharField(max_length=64, blank=True)
    partition = models.TextField(blank=True)
    qos = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=20)
    is_finished = models.BooleanField(default=False)
    reason = models.TextField(blank=True)
    why = models.TextField(blank=True)
    priority = models.BigIntegerField(default=0)
    nodes = models.TextField(blank=True)
    node_count = models.PositiveIntegerField(default=0)
    cpus = models.PositiveIntegerField(default=0)
    gpus = models.PositiveIntegerField(default=0)
    memory_mib = models.PositiveBigIntegerField(null=True)
    limit_s = models.PositiveBigIntegerField(null=True)
    start_at = models.DateTimeField(null=True)
    end_at = models.DateTimeField(null=True)
    dependency = models.TextField(blank=True)
    comment = models.TextField(blank=True)
    work_dir = models.TextField(blank=True)
    exit_code = models.CharField(max_length=20, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "key", "submit_at"], name="one_record_of_a_job")
        ]
        indexes = [
            # The list's own order: jobs on nodes, then those that wait, by priority (`slurm.jobs.filters`).
            models.Index(
                "cluster", "is_finished", IS_WAITING, models.F("priority").desc(), "number", name="job_line"
            ),
            # Covers the counts on the chips, so that they read no rows.
            models.Index(
                fields=["cluster", "is_finished", "state"],
                include=["user", "number", "array_number"],
                name="job_counts",
            ),
            models.Index(fields=["cluster", "is_finished", "-end_at"], name="job_history"),
            models.Index(fields=["cluster", "user"], name="job_user"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.name}"


class Submission(models.Model):
    """A job that somebody submitted through the console: what makes it theirs."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="submissions")
    number = models.PositiveBigIntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="submissions")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["cluster", "number"], name="submission_number")]

    def __str__(self) -> str:
        return f"{self.number} by {self.by}"


class TerminalPolicy(models.Model):
    """Whether a team's terminals are recorded; without a row they are not."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="terminal_policy")
    record = models.BooleanField(default=False)
    keep_days = models.PositiveSmallIntegerField(default=30)

    def __str__(self) -> str:
        return f"{self.team}: {'recorded' if self.record else 'not recorded'}"


class Recording(models.Model):
    """What a terminal showed. `name` is its file's, without the ending; the terminal worker writes both.

    `who` and `cluster` say it after person and cluster are gone. Not ended yet, it has neither length nor size.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="recordings")
    name = models.CharField(max_length=32, unique=True)
    cluster = models.CharField(max_length=40)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="recordings"
    )
    who = models.CharField(max_length=150)
    began_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    seconds = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)
    cut = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["team", "-began_at"], name="recordings_of_team")]

    def __str__(self) -> str:
        return f"{self.who} on {self.cluster}"


class HostKey(models.Model):
    """A host key that a login node showed instead of the platform's (`pinned`). Trusted once it is accepted, and only
    in place of that very one. Public keys as OpenSSH writes them."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="host_key")
    pinned = models.TextField()
    presented = models.TextField()
    seen_at = models.DateTimeField()
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    accepted_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"host key of {self.cluster}"
