"""People, teams, what happened, and sealed secrets: the rows that every app stands on."""

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.functional import cached_property

from console.roles import Role, Scope

SLUG = RegexValidator(
    r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$",
    "Use 1 to 40 lower-case letters, digits and hyphens, starting with a letter and not ending with a hyphen.",
)


class User(AbstractUser):
    """A person who signs in. What they may do comes from memberships; `is_staff` is platform staff, who reach all."""

    # The ceiling of the API token that this request came with (console.tokens); None without one. No column.
    token_scopes: frozenset[Scope] | None = None
    # Whether the session or the API token of this request came with the provider's second factor. No column either.
    came_with_factor: bool = False

    def comes_as(self, other: object) -> None:
        """Take over what the same person came with elsewhere."""
        self.token_scopes = getattr(other, "token_scopes", None)
        self.came_with_factor = getattr(other, "came_with_factor", False)


class BrowserSession(AbstractBaseSession):
    """A browser's session, written by `console.session_store`; a deleted one is signed out.

    `browser` and `address` are those of its latest request that was written down, at `seen_at`.
    """

    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="browser_sessions")
    began_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(null=True)
    address = models.GenericIPAddressField(null=True)
    browser = models.CharField(max_length=200, blank=True)
    # With the identity provider's second factor (console.provider_factor).
    came_with_factor = models.BooleanField(default=False)

    class Meta(AbstractBaseSession.Meta):
        abstract = False

    def __str__(self) -> str:
        return f"session of {self.user or 'nobody'}"

    def save(self, *, force_update: bool = False, **kwargs: Any) -> None:
        """The engine makes a new instance to change a row: what was noted beside the data stays."""
        if force_update:
            kwargs["update_fields"] = ["session_data", "expire_date", "user", "came_with_factor"]
        super().save(force_update=force_update, **kwargs)


class Team(models.Model):
    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    members = models.ManyToManyField(User, through="Membership", related_name="teams")
    # Of everybody in it, before anything of the team is shown (console.access).
    requires_second_factor = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.slug

    @cached_property
    def admins(self) -> list[tuple[str, Role]]:
        """Who gives roles here, and may sign in: name and role, owners first. Read once for each instance."""
        rows = self.memberships.filter(role__in=(Role.OWNER, Role.ADMIN), user__is_active=True)
        found = rows.order_by("user__username").values_list("user__username", "role")
        return sorted(((name, Role(role)) for name, role in found), key=lambda one: -one[1].rank)


class Membership(models.Model):
    """What a person is in a team. `as_staff` marks one that is no row: platform staff inside a team they are not in."""

    as_staff = False
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=[(r.value, r.value) for r in Role], default=Role.VIEWER)
    # The identity provider's group that it came from, and with which it goes; empty for one that a person gave.
    from_group = models.CharField(max_length=200, blank=True, editable=False)
    # Empty for those who were members before this was written down.
    joined_at = models.DateTimeField(auto_now_add=True, null=True)
    # The Slurm user names whose jobs are this person's own, with blanks between. An admin says so, never the person.
    slurm_users = models.CharField(max_length=400, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}: {self.role}"


class Invitation(models.Model):
    """An open link into a team. Only its SHA-256 is kept; accepted, revoked and expired ones are deleted, and what
    became of them is in the audit trail. It goes with the account of the person who made it.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=[(r.value, r.value) for r in Role])
    # Whom it is for, as far as its maker said; the link was sent there if `is_mailed`.
    email = models.EmailField(blank=True)
    is_mailed = models.BooleanField(default=False)
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"invitation {self.pk} to {self.team}"


class GroupRole(models.Model):
    """What the members of an identity provider's group are in a team (console.oidc_accounts)."""

    group = models.CharField(max_length=200, help_text="As the provider's groups claim spells it.")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="group_roles")
    role = models.CharField(max_length=10, choices=[(r.value, r.value) for r in Role], default=Role.MEMBER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "team"], name="one_role_per_group_and_team")]

    def __str__(self) -> str:
        return f"{self.group}: {self.role} of {self.team}"


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
    # Made in a session that came with the identity provider's second factor (console.provider_factor).
    came_with_factor = models.BooleanField(default=False, editable=False)

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
    # Done by platform staff inside a team that they are not in.
    as_staff = models.BooleanField(default=False)
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
