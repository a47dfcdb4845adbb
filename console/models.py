"""People, teams, what happened, and sealed secrets: the rows that every app stands on."""

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from console.roles import Role, Scope

SLUG = RegexValidator(
    r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$",
    "Use 1 to 40 lower-case letters, digits and hyphens, starting with a letter and not ending with a hyphen.",
)


class User(AbstractUser):
    """A person who signs in. What they may do comes from memberships alone; `is_staff` opens the admin site."""

    # The ceiling of the API token that this request came with (console.tokens); None without one. No column.
    token_scopes: frozenset[Scope] | None = None


class Team(models.Model):
    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    members = models.ManyToManyField(User, through="Membership", related_name="teams")

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=[(r.value, r.value) for r in Role], default=Role.VIEWER)
    # Empty for those who were members before this was written down.
    joined_at = models.DateTimeField(auto_now_add=True, null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}: {self.role}"


class ApiToken(models.Model):
    """A bearer token of one person. Only its SHA-256 is kept; `prefix` is what lists and secret scanners see."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    # Words of console.roles.Scope, with blanks between.
    scopes = models.CharField(max_length=60, default=" ".join(Scope))
    expires_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.user}"

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class Event(models.Model):
    """One thing that somebody did or tried. Written by `console.events.record` only; the database refuses to change it.

    Team and person are values, not references: the row outlives both, and says the same after either is deleted. Events
    are kept for ever: nothing in the console deletes one, and `manage.py audit verify` names a row that is gone.
    """

    at = models.DateTimeField(default=timezone.now, db_index=True)
    team = models.ForeignKey(
        Team,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="events",
    )
    team_slug = models.CharField(max_length=40, blank=True)
    user = models.ForeignKey(
        User,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="events",
    )
    who = models.CharField(max_length=150)
    cluster = models.CharField(max_length=40, blank=True)
    verb = models.CharField(max_length=60)
    target = models.CharField(max_length=200, blank=True)
    outcome = models.CharField(max_length=10, default="done")
    detail = models.JSONField(default=dict)
    address = models.GenericIPAddressField(null=True)
    # Its place in the hash chain (console.chain). A team has a chain of its own, so that teams do not wait for each
    # other: `chain` is the team's id, 0 where there is none.
    chain = models.BigIntegerField()
    number = models.BigIntegerField()
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["team", "at"], name="events_of_team")]
        constraints = [models.UniqueConstraint(fields=["chain", "number"], name="one_event_per_number")]

    def __str__(self) -> str:
        return f"{self.who} {self.verb} {self.target}"


class Secret(models.Model):
    """A sealed value. `owner` names what it belongs to (`cluster:<key>`), `kind` what it is (`ssh-ca`)."""

    owner = models.CharField(max_length=60)
    kind = models.CharField(max_length=40)
    sealed = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "kind"], name="one_secret_of_a_kind")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.owner}"
