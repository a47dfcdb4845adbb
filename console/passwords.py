"""A person's own password. Django's form checks it; this is what follows from a new one."""

from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.db import transaction
from django.http import HttpRequest

from console import events, live
from console.models import User


def change_password(request: HttpRequest, user: User, form: PasswordChangeForm) -> None:
    """Save the valid form's password. Every other session of the person ends: Django keeps a digest in each.

    Their terminals ask again at once, so those of an ended session close.
    """
    with transaction.atomic():
        form.save()
        update_session_auth_hash(request, user)
        events.record("password.change", by=user)
        live.rights_changed(user.pk)
