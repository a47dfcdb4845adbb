"""Forms of people: what was typed, kept as typed."""

import json
from collections.abc import Sequence

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, UserCreationForm

from console import mail
from console.dialog import ProblemForm
from console.members import RoleOffer
from console.models import Team, User
from console.roles import Scope

PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
SCOPES = [
    (Scope.READ, "read: see what you see"),
    (Scope.JOBS, "jobs: submit and control jobs"),
    (Scope.OPERATE, "operate: drain, resume and reboot nodes, restart services"),
    (Scope.ADMIN, "admin: create, change and delete clusters, change members"),
]
INVITED_FOR = [("1", "in a day"), ("7", "in 7 days"), ("30", "in 30 days")]
# Names that mean somebody else on a page, in the audit trail or to Slurm.
RESERVED = frozenset({"quarterdeck", "root", "slurm", "nobody", "me"})
ENDS = [("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), ("0", "never")]


class RoleForm(ProblemForm):
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


class InvitationForm(RoleForm):
    """Where no mail is set up the address is only a note in the list."""

    email = forms.EmailField(
        label="Email address",
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={**PLAIN, "autofocus": True}),
    )
    days = forms.TypedChoiceField(label="Expires", choices=INVITED_FOR, initial="7", coerce=int)

    def __init__(self, *args: object, offers: Sequence[RoleOffer], **kwargs: object) -> None:
        super().__init__(*args, offers=offers, **kwargs)
        self.fields["email"].help_text = (
            "The link is sent there. Leave it empty to get the link yourself."
            if mail.is_set_up()
            else "So that the list says whom it is for. You get the link to hand on: this console sends no mail."
        )


class HandoverForm(ProblemForm):
    """One of the team's other members."""

    name = forms.ChoiceField(
        label="New owner", error_messages={"invalid_choice": "Choose a member of the team."}
    )

    def __init__(self, *args: object, names: Sequence[str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["name"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]


class SlurmUsersForm(ProblemForm):
    slurm_users = forms.CharField(
        label="Slurm users",
        required=False,
        max_length=400,
        help_text="User names as squeue shows them, with blanks between. Leave it empty for none.",
        widget=forms.TextInput(attrs={**PLAIN, "autofocus": True, "placeholder": "mo mo-ci"}),
    )


class TeamForm(forms.ModelForm):
    """A new team and its first owner, who has an account."""

    owner = forms.CharField(
        label="Owner",
        max_length=150,
        help_text="The name of an account. Leave it empty to invite somebody on the team's People page.",
        required=False,
        widget=forms.TextInput(attrs=PLAIN),
    )

    class Meta:
        model = Team
        fields = ["slug", "name"]
        labels = {"slug": "Short name"}
        help_texts = {"slug": "Part of every address of the team, and of its names on Kubernetes. It stays."}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["slug"].widget.attrs |= {**PLAIN, "autofocus": True, "placeholder": "vision"}
        self.fields["slug"].error_messages["unique"] = "There is a team of that name already."


class AccountForm(UserCreationForm):
    """A new account by an invitation: a name that no other differs from by case alone, and a password."""

    class Meta:
        model = User
        fields = ["username"]

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        name = self.fields["username"]
        name.label, name.help_text = "Name", "As you will sign in: letters, digits and @ . + - _"
        name.widget.attrs |= {"autocapitalize": "none", "spellcheck": "false"}
        self.fields["password1"].help_text = "At least 12 characters, and no common password."
        self.fields["password2"].label = "Password again"
        self.fields["password2"].help_text = ""

    def clean_username(self) -> str:
        name = super().clean_username()
        # Nothing where the field itself refused what was typed, whatever the stubs say.
        if name and name.lower() in RESERVED:
            raise forms.ValidationError(f"{name} is a name that nobody can have. Choose another.")
        return name


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


class CodeForm(forms.Form):
    """A code of an authenticator app, or a recovery code, as typed: with blanks or without."""

    code = forms.CharField(
        label="Code",
        max_length=20,
        help_text="Six digits from your authenticator app, or eight of a recovery code.",
        widget=forms.TextInput(
            attrs={**PLAIN, "autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}
        ),
    )


class AppCodeForm(CodeForm):
    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["code"].label = "Code that the app shows"
        self.fields["code"].help_text = "It shows that the app has the secret, and that its clock is right."


class PasswordOnlyForm(forms.Form):
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )


class PasskeyForm(forms.Form):
    """What the browser answered for a passkey, put in by passkey.js."""

    credential = forms.CharField(max_length=20_000, widget=forms.HiddenInput)

    def clean_credential(self) -> dict[str, object]:
        try:
            answer = json.loads(self.cleaned_data["credential"])
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise forms.ValidationError("That is no answer of a passkey.")
        return answer


class NewPasskeyForm(PasskeyForm):
    name = forms.CharField(
        label="Name",
        max_length=60,
        help_text="So that you know later which one it is.",
        widget=forms.TextInput(attrs={**PLAIN, "autofocus": True, "placeholder": "work laptop"}),
    )


class PasswordForm(PasswordChangeForm):
    """Django's own, without its list of rules in HTML: ours says them in a sentence."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["old_password"].label = "Current password"
        self.fields["old_password"].widget.attrs.pop("autofocus", None)
        self.fields["new_password1"].help_text = "At least 12 characters, and no common password."
        self.fields["new_password2"].label = "New password again"
        self.fields["new_password2"].help_text = ""
