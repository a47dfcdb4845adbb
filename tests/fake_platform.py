"""A platform whose readiness a test writes: the double behind the pages, the API and the task of regions."""

from collections.abc import Mapping
from typing import ClassVar

from django import forms

from clusters.finding import Finding, State
from clusters.platform import LoginsHere, RegionRef
from clusters.region_form import RegionForm, Section
from console.errors import ConsoleError

FINE = Finding("api", "API server", State.OK, "It answers.")
# What each region finds, by its slug; a ConsoleError is raised. One that is not here finds that all is well.
FOUND: dict[str, tuple[Finding, ...] | ConsoleError] = {}


class FakeForm(RegionForm):
    zone = forms.CharField(label="Zone", initial="north")
    password = forms.CharField(label="Password", required=False, widget=forms.PasswordInput)

    sections: ClassVar[tuple[Section, ...]] = (Section("Place", "Where it is.", ("zone", "password")),)
    secret_fields: ClassVar[frozenset[str]] = frozenset({"password"})
    settled_fields: ClassVar[frozenset[str]] = frozenset({"zone"})

    @classmethod
    def initial_from(cls, config: Mapping[str, object]) -> dict[str, object]:
        return {"zone": config.get("zone", "north")}

    @property
    def config(self) -> dict[str, object]:
        return {"zone": self.cleaned_data["zone"]}

    @property
    def secrets(self) -> dict[str, bytes]:
        typed = self.cleaned_data.get("password")
        return {"password": typed.encode()} if typed else {}


class FakePlatform:
    title: ClassVar[str] = "A platform of the tests"
    about: ClassVar[str] = "Runs nothing."
    form: ClassVar[type[RegionForm]] = FakeForm

    def __init__(self, ref: RegionRef) -> None:
        self.ref = ref

    def readiness(self) -> tuple[Finding, ...]:
        found = FOUND.get(self.ref.slug, (FINE,))
        if isinstance(found, ConsoleError):
            raise found
        return found

    def offers(self, slurm_version: str) -> bool:
        return slurm_version != "22.05"

    def mount_caveat(self) -> str:
        return ""

    def logins(self) -> LoginsHere:
        return LoginsHere(str(self.ref.config.get("no_logins", "")))

    def documents(self) -> Mapping[str, str]:
        return {"rights.yaml": f"zone: {self.ref.config.get('zone', 'north')}\n"}
