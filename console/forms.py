"""Forms of people: what was typed, kept as typed."""

from collections.abc import Sequence

from django import forms
from django.contrib.auth.forms import PasswordChangeForm

from console.members import RoleOffer
from console.roles import Scope

PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
SCOPES = [
    (Scope.READ, "read: see what you see"),
    (Scope.JOBS, "jobs: submit and control jobs"),
    (Scope.OPERATE, "operate: drain, resume and reboot nodes, restart services"),
    (Scope.ADMIN, "admin: create, change and delete clusters, change members"),
]
ENDS = [("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), ("0", "never")]


class RoleForm(forms.Form):
    """One of the roles that the person may give."""

    role = forms.ChoiceField(
        label="Role", error_messages={"invalid_choice": "Choose one of the roles that you may give."}
    )

    def __init__(self, *args: object, offers: Sequence[RoleOffer], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.offers = offers
        self.fields["role"].choices = [(offer.role, offer.role.value) for offer in offers]  # type: ignore[attr-defined]


class AddMemberForm(RoleForm):
    name = forms.CharField(
        label="Name",
        max_length=150,
        help_text="As they sign in. The account must exist: platform staff make them on the admin site.",
        widget=forms.TextInput(attrs={**PLAIN, "autofocus": True}),
    )


class TokenForm(forms.Form):
    name = forms.CharField(
        label="What it is for",
        max_length=100,
        help_text="So that you know later which one to revoke.",
        widget=forms.TextInput(attrs={**PLAIN, "autofocus": True, "placeholder": "nightly training"}),
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        choices=SCOPES,
        initial=[Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        help_text="Never more than your role in each team.",
    )
    days = forms.TypedChoiceField(label="Expires", choices=ENDS, initial="90", coerce=int)


class PasswordForm(PasswordChangeForm):
    """Django's own, without its list of rules in HTML: ours says them in a sentence."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["old_password"].label = "Current password"
        self.fields["old_password"].widget.attrs.pop("autofocus", None)
        self.fields["new_password1"].help_text = "At least 12 characters, and no common password."
        self.fields["new_password2"].label = "New password again"
        self.fields["new_password2"].help_text = ""
