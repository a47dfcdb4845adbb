"""Forms of login users and keys: what was typed, kept as typed, and problems of a spec put at their fields."""

import re
from collections.abc import Iterable, Sequence

from django import forms

from clusters.grants import Reach
from clusters.login_rules import proposed_name
from clusters.logins import Wish
from clusters.spec import ClusterSpec
from console.dialog import ProblemForm
from console.errors import Problem

PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none", "class": "mono"}
KEY = {
    "rows": 3, "class": "mono", "spellcheck": "false", "autocapitalize": "none", "autocomplete": "off",
    "placeholder": "ssh-ed25519 AAAA… you@laptop",
}  # fmt: skip
JOBS = (("run", "Let them run, and wait in the queue as they do"), ("cancel", "Cancel them"))
HOMES = (
    ("keep", "Keep it where it is; added again, the same person finds it"),
    ("archive", "Archive it: moved aside, where only root reads it"),
    ("delete", "Delete it, with every file in it"),
)


class BasedForm(ProblemForm):
    base = forms.IntegerField(widget=forms.HiddenInput)


class SettingsForm(BasedForm):
    """Login users on or off, and where their homes are."""

    on = forms.BooleanField(required=False, label="Everybody signs in as themselves")
    homes = forms.ChoiceField(label="Homes", required=False)

    def __init__(self, *args: object, spec: ClusterSpec, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        mounts = [(one.path, f"On {one.name}, at {one.path}") for one in spec.mounts if not one.read_only]
        self.fields["homes"].choices = [("", "On the cluster itself, at /home"), *mounts]  # type: ignore[attr-defined]


class WishForm(BasedForm):
    groups = forms.CharField(
        label="Further groups", max_length=400, required=False,
        help_text="Names, with blanks between. One that the team does not have yet is made.",
        widget=forms.TextInput(PLAIN),
    )  # fmt: skip
    sudo = forms.BooleanField(required=False, label="Sudo on the login node")

    @property
    def wish(self) -> Wish:
        """As typed so far."""
        groups = re.split(r"[\s,]+", str(self["groups"].value() or "").strip())
        return Wish(tuple(name for name in groups if name), bool(self["sudo"].value()))


class AddForm(WishForm):
    """One of `people`, who have no login here yet."""

    account = forms.ChoiceField(label="Person")
    name = forms.CharField(
        label="Login", max_length=32, required=False, widget=forms.TextInput(PLAIN),
        help_text="Left empty, it is like the account's name. It is the same on all clusters of the team, for ever.",
    )  # fmt: skip

    field_order = ("account", "name", "groups", "sudo")

    def __init__(self, *args: object, people: Sequence[Reach], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        names = [reach.member.user.username for reach in people]
        self.fields["account"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]
        self.people = {reach.member.user.username: reach.member.user for reach in people}

    @property
    def login(self) -> str:
        """As it would be called, for a preview."""
        typed = str(self["name"].value() or "").strip()
        return typed or proposed_name(str(self["account"].value() or "user"))


class RemovalForm(BasedForm):
    jobs = forms.ChoiceField(label="Their jobs", choices=JOBS, initial="run", widget=forms.RadioSelect)
    home = forms.ChoiceField(label="Their home", choices=HOMES, initial="keep", widget=forms.RadioSelect)


class KeyForm(ProblemForm):
    line = forms.CharField(
        label="Public key", max_length=9000, strip=True,
        help_text="The line of the file that ends in .pub. Ed25519, ECDSA, or RSA of 2048 bits and more.",
        widget=forms.Textarea(KEY),
    )  # fmt: skip

    def show_problems(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.add_error("line", f"{problem.message} {problem.hint}".strip())


class ClusterKeyForm(KeyForm):
    base = forms.IntegerField(widget=forms.HiddenInput)
