"""The forms of accounts, of people in them and of QOS: what a person types, and the values it stands for.

Fields carry the names that problems and the API use. A limit's field is made from the catalogue; a number of resources
is GPUs. What is wrong with the whole is `slurm.accounts.check`; here only what cannot be read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from django import forms
from django.forms import BoundField
from django.http import QueryDict

from console.errors import Problem
from slurm.accounts.book import ROOT, Book
from slurm.accounts.limits import (
    ASSOCIATION_LIMITS,
    GPU,
    QOS_LIMITS,
    Kind,
    Limit,
    LimitError,
    tres_of,
    typed_value,
)
from slurm.accounts.meanwhile import begun_token, join
from slurm.outputs.accounts import Account, Association, Qos
from slurm.times import format_time

PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false", "class": "mono"}
FLAG_WORDS = {
    "DenyOnLimit": "Refuse jobs beyond a limit at once, instead of letting them wait",
    "NoDecay": "GPU-minutes do not fade: a budget",
    "NoReserve": "Backfill reserves nothing for its jobs",
    "OverPartQOS": "Its limits win over those of the partition's QOS",
    "PartitionTimeLimit": "Jobs may run longer than the partition allows",
    "PartitionMaxNodes": "Jobs may ask more nodes than the partition allows",
    "PartitionMinNodes": "Jobs may ask fewer nodes than the partition wants",
    "RequiresReservation": "Only for jobs in a reservation",
    "EnforceUsageThreshold": "Jobs wait when fair share is below the threshold",
    "UsageFactorSafe": "Refuse jobs that could use up the GPU-minutes",
    "Relative": "Limits are percentages of the cluster",
}
MODES = (("", "as the cluster says"), ("cancel", "end them"), ("requeue", "put them back into the queue"))


class LimitsForm(forms.Form):
    """Adds a field for each limit of `limits`; `shown` are the values before."""

    limits: ClassVar[Sequence[Limit]] = ()
    template: ClassVar[str] = "slurm/account_edit.html"

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.kept: list[str] = []
        self._clashes: Mapping[str, str] = {}
        for limit in self.limits:
            self.fields[limit.field] = forms.CharField(
                label=limit.label,
                required=False,
                max_length=400,
                help_text=limit.help,
                widget=forms.TextInput(attrs={**PLAIN, "placeholder": "no limit", "title": limit.option}),
            )

    @property
    def begun(self) -> str:
        """What the form begins with, to be sent back with it."""
        return begun_token(self.initial)

    def join_meanwhile(self) -> None:
        """Take in what others changed since the person began. Before `is_valid`."""
        assert isinstance(self.data, QueryDict)
        joined = join(self.data, self.fields, self.initial)
        self.data, self._clashes = joined.data, joined.clashes
        self.kept = [str(self.fields[name].label) for name in joined.kept]

    @property
    def usual(self) -> list[BoundField]:
        return [self[limit.field] for limit in self.limits if limit.usual]

    @property
    def unusual(self) -> list[BoundField]:
        return [self[limit.field] for limit in self.limits if not limit.usual]

    @property
    def is_unusual(self) -> bool:
        """Whether one of those is filled in or wrong, so that they are shown."""
        return any(bound.value() or bound.errors for bound in self.unusual)

    @property
    def typed_limits(self) -> Mapping[str, str]:
        """By option, after `clean`."""
        found = {limit.option: self.cleaned_data.get(limit.field, "") for limit in self.limits}
        return {option: value for option, value in found.items() if value}

    def clean(self) -> None:
        super().clean()
        for name, sentence in self._clashes.items():
            self.add_error(name, sentence)
        for limit in self.limits:
            try:
                self.cleaned_data[limit.field] = typed_value(limit, self.cleaned_data.get(limit.field, ""))
            except LimitError as error:
                self.add_error(limit.field, str(error))

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Put each at its field; those of no field above the form."""
        for problem in problems:
            text = f"{problem.message} {problem.hint}".strip()
            self.add_error(problem.path if problem.path in self.fields else None, text)


class _AssociationForm(LimitsForm):
    """What an account and a person in one have in common."""

    limits = ASSOCIATION_LIMITS

    shares = forms.CharField(
        label="Shares", required=False, max_length=20, initial="1", widget=forms.TextInput(attrs=PLAIN)
    )
    qos = forms.MultipleChoiceField(
        label="QOS that may be used",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None: the same as the account above",
    )
    default_qos = forms.ChoiceField(label="Default QOS", required=False, help_text="For jobs that name none")

    def __init__(self, *args: object, book: Book, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        _choices(self, "qos", _names(book))
        _choices(self, "default_qos", [("", "the account's, or normal"), *_names(book)])

    def clean_shares(self) -> int | None:
        text = str(self.cleaned_data["shares"]).strip().lower() or "1"
        if text == "parent":
            return None
        if not (text.isascii() and text.isdigit() and len(text) <= 10):
            raise forms.ValidationError("A whole number, or parent.")
        return int(text)

    def association(self, like: Association) -> Association:
        """`like` with what is typed; call after `is_valid`."""
        data = self.cleaned_data
        return replace(
            like,
            shares=data.get("shares", 1),
            qos=tuple(data.get("qos", ())),
            default_qos=data.get("default_qos", ""),
            limits=self.typed_limits,
        )


class AccountForm(_AssociationForm):
    name = forms.CharField(
        label="Name", max_length=63, widget=forms.TextInput(attrs={**PLAIN, "autofocus": True})
    )
    parent = forms.ChoiceField(label="Below", help_text="Its limits hold here too")
    description = forms.CharField(
        label="Description", required=False, max_length=200, help_text="Slurm keeps it in lower case"
    )
    organization = forms.CharField(label="Organization", required=False, max_length=200)

    def __init__(
        self, *args: object, book: Book, before: Association | None = None, **kwargs: object
    ) -> None:
        super().__init__(*args, book=book, **kwargs)
        self.fields["shares"].help_text = "Of what the accounts beside it share; 1 is usual"
        _choices(self, "default_qos", [("", "that of the account above, or normal"), *_names(book)])
        under = book.below(before.account) if before else frozenset()
        parents = [branch.own.account for branch in book.tree() if branch.own.account not in under]
        _choices(self, "parent", [(name, name) for name in parents])
        if before:
            del self.fields["name"]
            self.like = before
            if before.account == ROOT:
                del self.fields["parent"]
        else:
            self.like = Association("", parent=ROOT)

    @property
    def account(self) -> Account:
        data = self.cleaned_data
        name = self.like.account or data.get("name", "")
        return Account(name, data.get("description", ""), data.get("organization", ""))

    @property
    def wanted(self) -> Association:
        parent = self.cleaned_data.get("parent", self.like.parent)
        return replace(self.association(self.like), account=self.account.name, parent=parent)


class MemberForm(_AssociationForm):
    """A person in an account."""

    user = forms.CharField(
        label="User",
        max_length=63,
        help_text="The name that jobs run under on the cluster",
        widget=forms.TextInput(attrs={**PLAIN, "autofocus": True}),
    )
    partition = forms.ChoiceField(
        label="Partition", required=False, help_text="Limits that hold in one partition only"
    )
    is_default = forms.BooleanField(label="Default account: takes jobs that name none", required=False)

    def __init__(
        self,
        *args: object,
        book: Book,
        account: str,
        partitions: Sequence[str] = (),
        before: Association | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(*args, book=book, **kwargs)
        self.fields["shares"].help_text = "Of what the account's people share; parent: all use the account's"
        _choices(self, "partition", [("", "any"), *((name, name) for name in partitions)])
        self.like = before or Association(account)
        if before:
            del self.fields["user"], self.fields["partition"]
            if before.is_default:
                del self.fields["is_default"]

    @property
    def wanted(self) -> Association:
        data = self.cleaned_data
        user = self.like.user or data.get("user", "")
        partition = self.like.partition or data.get("partition", "")
        return replace(self.association(self.like), user=user, partition=partition)

    @property
    def make_default(self) -> bool:
        return bool(self.cleaned_data.get("is_default"))


class CoordinatorsForm(LimitsForm):
    """Who coordinates an account."""

    template = "slurm/account_coordinators.html"

    coordinators = forms.CharField(
        label="Coordinators",
        required=False,
        max_length=4000,
        help_text="Users, with commas or blanks between; empty: nobody",
        widget=forms.TextInput(attrs={**PLAIN, "autofocus": True}),
    )

    def __init__(self, *args: object, account: str, before: Sequence[str], **kwargs: object) -> None:
        super().__init__(*args, initial={"coordinators": ", ".join(before)}, **kwargs)
        self.account = account

    @property
    def wanted(self) -> tuple[str, ...]:
        typed = re.split(r"[,\s]+", self.cleaned_data.get("coordinators", ""))
        return tuple(dict.fromkeys(name for name in typed if name))


class QosForm(LimitsForm):
    limits = QOS_LIMITS
    template = "slurm/qos_edit.html"

    name = forms.CharField(
        label="Name", max_length=63, widget=forms.TextInput(attrs={**PLAIN, "autofocus": True})
    )
    description = forms.CharField(
        label="Description", required=False, max_length=200, help_text="Slurm keeps it in lower case"
    )
    priority = forms.IntegerField(
        label="Priority",
        required=False,
        min_value=0,
        max_value=2**32 - 3,
        initial=0,
        help_text="Counts by PriorityWeightQOS, against the highest there is",
    )
    usage_factor = forms.FloatField(
        label="Usage factor",
        required=False,
        min_value=0,
        max_value=1e6,
        initial=1,
        help_text="2 counts every minute twice",
    )
    preempt = forms.MultipleChoiceField(
        label="Pushes jobs of these aside",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Needs PreemptType=preempt/qos",
    )
    preempt_mode = forms.ChoiceField(
        label="Jobs of its own that are pushed aside", choices=MODES, required=False
    )
    grace_s = forms.IntegerField(
        label="Grace",
        required=False,
        min_value=0,
        max_value=2**31,
        initial=0,
        help_text="Seconds a job has left when pushed aside",
    )
    flags = forms.MultipleChoiceField(label="Flags", required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: object, book: Book, before: Qos | None = None, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        others = [one.name for one in book.qos if before is None or one.name != before.name]
        _choices(self, "preempt", [(name, name) for name in others])
        _choices(self, "flags", [(flag, f"{flag}: {words}") for flag, words in FLAG_WORDS.items()])
        self.like = before or Qos("")
        if before:
            del self.fields["name"]
            # A mode of the cluster's own choice that the form does not offer is kept.
            if before.preempt_mode not in dict(MODES):
                _choices(self, "preempt_mode", [*MODES, (before.preempt_mode, before.preempt_mode)])

    @property
    def wanted(self) -> Qos:
        data = self.cleaned_data
        return replace(
            self.like,
            name=self.like.name or data.get("name", ""),
            description=data.get("description", ""),
            priority=data.get("priority") or 0,
            usage_factor=1.0 if data.get("usage_factor") is None else data["usage_factor"],
            preempt=tuple(data.get("preempt", ())),
            preempt_mode=data.get("preempt_mode", ""),
            grace_s=data.get("grace_s") or 0,
            flags=tuple(data.get("flags", ())),
            limits=self.typed_limits,
        )


def begun_association(own: Association, about: Account | None = None) -> dict[str, object]:
    """The form filled in with what is set now."""
    return {
        "parent": own.parent,
        "description": about.description if about else "",
        "organization": about.organization if about else "",
        "shares": "parent" if own.shares is None else str(own.shares),
        "qos": list(own.qos),
        "default_qos": own.default_qos,
        "is_default": own.is_default,
        **_begun_limits(ASSOCIATION_LIMITS, own.limits),
    }


def begun_qos(qos: Qos) -> dict[str, object]:
    names = ("description", "priority", "usage_factor", "preempt_mode", "grace_s")
    plain = {name: getattr(qos, name) for name in names}
    return {
        **plain,
        "preempt": list(qos.preempt),
        "flags": list(qos.flags),
        **_begun_limits(QOS_LIMITS, qos.limits),
    }


def limit_words(limit: Limit, value: str) -> str:
    """A value as a form shows it: GPUs alone are a number."""
    if limit.kind is Kind.DURATION:
        return format_time(int(value)) if value else ""
    tres = tres_of(value) if limit.kind in (Kind.TRES, Kind.TRES_MINUTES) else {}
    return str(tres[GPU]) if set(tres) == {GPU} else value


def _begun_limits(limits: Sequence[Limit], values: Mapping[str, str]) -> dict[str, str]:
    return {limit.field: limit_words(limit, values.get(limit.option, "")) for limit in limits}


def _names(book: Book) -> list[tuple[str, str]]:
    return [(one.name, one.name) for one in book.qos]


def _choices(form: forms.Form, name: str, choices: Sequence[tuple[str, str]]) -> None:
    form.fields[name].choices = list(choices)  # type: ignore[attr-defined]
