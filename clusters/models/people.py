"""Who a person is on login nodes: numbers of users and groups, and keys."""

from django.conf import settings
from django.db import models

from console.models import Team


class Identity(models.Model):
    """The number of a login user or a group of a team, the same on all its clusters and for ever.

    Rows are never deleted and numbers never given out twice, whatever becomes of the person or the team: files outlive
    both. `account` is the name of the person that a user belongs to, or belonged to.
    """

    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="identities")
    kind = models.CharField(max_length=5, choices=[("user", "user"), ("group", "group")])
    name = models.CharField(max_length=32)
    number = models.PositiveIntegerField(unique=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="identities"
    )
    account = models.CharField(max_length=150, blank=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="one_identity_of_a_name"),
            models.UniqueConstraint(fields=["team", "user"], name="one_identity_of_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.number}) of {self.team}"


class PersonalKey(models.Model):
    """A public key of a person, for the login nodes where they have a login. One key is one person's."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="ssh_keys")
    line = models.TextField()
    type = models.CharField(max_length=40)
    bits = models.PositiveIntegerField()
    comment = models.CharField(max_length=200, blank=True)
    fingerprint = models.CharField(max_length=60, unique=True)
    added_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.comment or self.fingerprint
