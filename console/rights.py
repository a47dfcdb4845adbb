"""Telling open sockets that a person's rights may have changed, so that they ask again at once.

Signals, because members are changed in several places (admin site, API, commands). Connected by `ConsoleConfig`.
What is changed past Django is found by the sockets themselves, which ask every few seconds.
"""

from typing import Any

from django.contrib.auth.signals import user_logged_out
from django.db.models.signals import post_delete, post_save

from console import live
from console.models import Membership, User


def listen() -> None:
    """Idempotent."""
    for signal in (post_save, post_delete):
        signal.connect(_membership_changed, sender=Membership, dispatch_uid=f"rights-{id(signal)}")
    post_save.connect(_person_changed, sender=User, dispatch_uid="rights-person")
    user_logged_out.connect(_signed_out, dispatch_uid="rights-signed-out")


def _membership_changed(instance: Membership, **told: Any) -> None:
    live.rights_changed(instance.user_id)


def _person_changed(instance: User, created: bool, update_fields: Any = None, **told: Any) -> None:
    # Every sign-in saves its time alone.
    if not created and set(update_fields or ["is_active"]) != {"last_login"}:
        live.rights_changed(instance.pk)


def _signed_out(user: User | None, **told: Any) -> None:
    if user is not None:
        live.rights_changed(user.pk)
