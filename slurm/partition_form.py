"""The form of one own partition: what a person types, and the PartitionSpec that it stands for.

Times are typed as Slurm writes them (`1-00:00:00`, `90`) or as people do (`2h`, `1 day 12 h`). What is wrong with the
partition as a whole is `slurm.partitions.problems_of`; here only what cannot be read at all.
"""

import re

from django import forms

from clusters.spec import PartitionSpec
from clusters.validate import OVERSUBSCRIBE, STATES
from console.errors import Problem
from slurm.times import DurationError, format_time, parse_time

_UNIT = r"(\d{1,6})\s*(weeks?|w|days?|d|hours?|h|minutes?|min|m)\b\s*"
_PEOPLES = re.compile(f"(?:{_UNIT})+", re.IGNORECASE)
_PART = re.compile(_UNIT, re.IGNORECASE)
_MINUTES = {"w": 10_080, "d": 1440, "h": 60, "m": 1}
_WORDS = re.compile(r"[,\s]+")
STATE_WORDS = {
    "UP": "UP: takes jobs and runs them",
    "DOWN": "DOWN: takes jobs, starts none",
    "DRAIN": "DRAIN: takes no new job, runs what waits",
    "INACTIVE": "INACTIVE: takes none, starts none",
}
SHARING = {
    "NO": "No: what a job gets is its own",
    "EXCLUSIVE": "Whole nodes: a job has its nodes to itself",
    "YES": "If jobs ask for it",
    "FORCE": "Always, jobs or not",
}


def typed_minutes(text: str) -> int | None:
    """Minutes; None for no limit. Raises DurationError."""
    plain = text.strip()
    if _PEOPLES.fullmatch(plain):
        return sum(int(n) * _MINUTES[unit[0].lower()] for n, unit in _PART.findall(plain))
    return parse_time(plain)


class PartitionForm(forms.Form):
    """Field names are those of PartitionSpec, but for `shares` and `sharing_jobs`, which make up `oversubscribe`."""

    name = forms.CharField(
        max_length=63,
        label="Name",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
    )
    nodes = forms.CharField(
        label="Nodes",
        max_length=10_000,
        help_text="A range such as slinky-[0-1,5], or ALL. Press nodes in the list to choose them.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
    )
    default = forms.BooleanField(label="Default: takes jobs that name no partition", required=False)
    max_time_minutes = forms.CharField(
        label="Longest job",
        required=False,
        help_text="1-00:00:00, 12:00:00, 2h; empty: no limit",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "INFINITE", "class": "mono"}),
    )
    default_time_minutes = forms.CharField(
        label="Where a job says nothing",
        required=False,
        help_text="Empty: the longest",
        widget=forms.TextInput(attrs={"autocomplete": "off", "class": "mono"}),
    )
    state = forms.ChoiceField(label="State", choices=[(s, STATE_WORDS[s]) for s in STATES], initial="UP")
    priority_tier = forms.IntegerField(
        label="Priority tier",
        min_value=0,
        max_value=65_533,
        initial=1,
        help_text="Jobs of a higher tier are looked at first. 1 is usual.",
    )
    shares = forms.ChoiceField(label="Sharing", choices=list(SHARING.items()), initial="NO")
    sharing_jobs = forms.IntegerField(label="Jobs at once", min_value=1, max_value=999, required=False)
    qos = forms.CharField(
        label="QOS", required=False, max_length=64, help_text="Its limits hold for the partition"
    )
    allow_groups = forms.CharField(
        label="Allowed groups", required=False, max_length=2000, help_text="Unix groups; empty: everybody"
    )
    allow_accounts = forms.CharField(
        label="Allowed accounts", required=False, max_length=2000, help_text="Empty: all accounts"
    )
    allow_qos = forms.CharField(
        label="Allowed QOS", required=False, max_length=2000, help_text="That jobs may ask for; empty: all"
    )
    base = forms.IntegerField(widget=forms.HiddenInput)
    was = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_max_time_minutes(self) -> int | None:
        return _minutes(self.cleaned_data["max_time_minutes"])

    def clean_default_time_minutes(self) -> int | None:
        return _minutes(self.cleaned_data["default_time_minutes"])

    @property
    def partition(self) -> PartitionSpec:
        """What is typed, as far as it can be read; call after `is_valid`."""
        data = self.cleaned_data
        shares, jobs = data.get("shares", "NO"), data.get("sharing_jobs")
        return PartitionSpec(
            name=data.get("name", ""),
            nodes=re.sub(r"\s+", "", data.get("nodes", "")),
            default=data.get("default", False),
            max_time_minutes=data.get("max_time_minutes"),
            default_time_minutes=data.get("default_time_minutes"),
            state=data.get("state", "UP"),
            priority_tier=data.get("priority_tier", 1),
            oversubscribe=f"{shares}:{jobs}" if jobs and shares in ("YES", "FORCE") else shares,
            qos=data.get("qos", ""),
            allow_groups=_names(data.get("allow_groups", "")),
            allow_accounts=_names(data.get("allow_accounts", "")),
            allow_qos=_names(data.get("allow_qos", "")),
        )

    def show_problems(self, problems: tuple[Problem, ...]) -> None:
        """Put each at its field; one that could not be read at all has said so already."""
        for problem in problems:
            field = "shares" if problem.path == "oversubscribe" else problem.path
            if problem.blocking and field not in self.errors:
                text = f"{problem.message} {problem.hint}".strip()
                self.add_error(field if field in self.fields else None, text)


def initial_from(partition: PartitionSpec) -> dict[str, object]:
    """The form filled in with a partition as it is."""
    found = OVERSUBSCRIBE.fullmatch(partition.oversubscribe)
    shares, _, jobs = partition.oversubscribe.partition(":") if found else ("NO", "", "")
    limit, default = partition.max_time_minutes, partition.default_time_minutes
    return {
        "name": partition.name,
        "nodes": partition.nodes,
        "default": partition.default,
        "max_time_minutes": "" if limit is None else format_time(limit),
        "default_time_minutes": "" if default is None else format_time(default),
        "state": partition.state,
        "priority_tier": partition.priority_tier,
        "shares": shares,
        "sharing_jobs": jobs,
        "qos": partition.qos,
        "allow_groups": ", ".join(partition.allow_groups),
        "allow_accounts": ", ".join(partition.allow_accounts),
        "allow_qos": ", ".join(partition.allow_qos),
        "was": partition.name,
    }


def _minutes(text: str) -> int | None:
    if not text.strip():
        return None
    try:
        return typed_minutes(text)
    except DurationError as error:
        raise forms.ValidationError(f"{error}.") from error


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in _WORDS.split(text) if word))
