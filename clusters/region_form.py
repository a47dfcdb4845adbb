"""The form that registers a region and changes its settings. Each platform's own form adds what it asks for.

One form serves three pages: registering asks for everything; settings leaves out the slug and what is secret;
credentials asks for the secrets alone. A secret is never filled in again: what is sealed is shown to nobody.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from django import forms

from console.models import SLUG

PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
RESERVED = frozenset({"new"})


class Purpose(Enum):
    REGISTER = "register"
    SETTINGS = "settings"
    CREDENTIALS = "credentials"


@dataclass(frozen=True)
class Section:
    """A heading over some of the form's fields."""

    title: str
    about: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class ShownSection:
    title: str
    about: str
    fields: list[forms.BoundField]


class RegionForm(forms.Form):
    """`kept` names the secrets that are sealed already; `has_clusters` says that clusters live by the settings."""

    slug = forms.CharField(
        label="Short name",
        max_length=40,
        validators=[SLUG],
        help_text="Lower-case letters, digits and hyphens. It cannot change.",
        widget=forms.TextInput(attrs={**PLAIN, "class": "mono", "autofocus": True}),
    )
    name = forms.CharField(label="Name", max_length=100, help_text="As people see it when they choose.")

    sections: ClassVar[tuple[Section, ...]] = ()
    # Fields that hold secrets, and settings that clusters which are there would be lost by.
    secret_fields: ClassVar[frozenset[str]] = frozenset()
    settled_fields: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        *args: object,
        purpose: Purpose = Purpose.REGISTER,
        kept: frozenset[str] = frozenset(),
        has_clusters: bool = False,
        **kwargs: object,
    ) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.purpose = purpose
        self.kept = kept
        for name in [name for name in self.fields if not self._asks_for(name)]:
            del self.fields[name]
        if has_clusters:
            self._settle()

    @classmethod
    def initial_from(cls, config: Mapping[str, object]) -> dict[str, object]:
        """The form's values for a region's `config`."""
        return {}

    @classmethod
    def summary(cls, config: Mapping[str, object]) -> list[tuple[str, str]]:
        """What is set, as labels and values to read. No secret is among it: `config` has none."""
        values = cls.initial_from(config).items()
        return [
            (str(cls.base_fields[name].label or name), _in_words(cls.base_fields[name], value))
            for name, value in values
            if value not in ("", None)
        ]

    @property
    def config(self) -> dict[str, object]:
        """What the valid form says, as `Region.config`."""
        return {}

    @property
    def secrets(self) -> dict[str, bytes]:
        """What was typed of each kind of secret; kinds that were left empty are left out."""
        return {}

    @property
    def shown(self) -> list[ShownSection]:
        """Sections with what is left of their fields, the name first."""
        sections = (Section("Region", "", ("slug", "name")), *self.sections)
        shown = [
            ShownSection(s.title, s.about, [self[f] for f in s.fields if f in self.fields]) for s in sections
        ]
        return [section for section in shown if section.fields]

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug in RESERVED:
            raise forms.ValidationError(f"{slug} is a page of this console. Choose another.")
        return slug

    def _asks_for(self, name: str) -> bool:
        if self.purpose is Purpose.REGISTER:
            return True
        return (name in self.secret_fields) == (self.purpose is Purpose.CREDENTIALS) and name != "slug"

    def _settle(self) -> None:
        for name in self.settled_fields & self.fields.keys():
            self.fields[name].disabled = True
            self.fields[name].help_text = "Clusters live by it: it can change when the region has none."


def _in_words(field: forms.Field, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(field, forms.ChoiceField):
        return next((str(label) for choice, label in field.widget.choices if choice == value), str(value))
    return str(value)
