"""Forms of volumes and mounts: what was typed, kept as typed, with problems at their fields."""

from collections.abc import Sequence

from django import forms

from clusters.models import Region
from console.dialog import ProblemForm
from storage.kinds import TITLES, Kind
from storage.models import MOST_GIB, Offer, Volume, about_volume
from storage.volumes import Wish

PLAIN = {"autocomplete": "off", "spellcheck": "false"}
NAME_HELP = "Lower-case letters, digits and hyphens. It can be changed later; files and paths stay."


class VolumeForm(ProblemForm):
    """A new volume. `regions` are those that may be chosen; offers are the chosen one's."""

    name = forms.CharField(
        max_length=40, label="Name", help_text=NAME_HELP, widget=forms.TextInput({**PLAIN, "autofocus": True})
    )
    region = forms.ChoiceField(label="Region")
    offer = forms.ChoiceField(label="What it is made of", widget=forms.RadioSelect)
    size_gib = forms.IntegerField(
        label="Size in GiB", min_value=1, max_value=MOST_GIB, required=False,
        help_text="It can grow later, never shrink. A dataset has the size of its files.",
        widget=forms.NumberInput({"inputmode": "numeric"}),
    )  # fmt: skip

    def __init__(self, *args: object, regions: Sequence[Region], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.regions = regions
        asked = str(self["region"].value() or (regions[0].slug if regions else ""))
        chosen = next((region for region in regions if region.slug == asked), None)
        offers = chosen.offers.order_by("slug") if chosen else ()
        self.offers = sorted(offers, key=lambda offer: offer.kind == Kind.DATASET)
        self.fields["region"].choices = [(region.slug, region.name) for region in regions]  # type: ignore[attr-defined]
        self.fields["offer"].choices = [(offer.slug, offer.name) for offer in self.offers]  # type: ignore[attr-defined]

    @property
    def choices(self) -> list[tuple[Offer, str]]:
        """What the region offers, with a line about each."""
        return [(offer, about(offer)) for offer in self.offers]

    @property
    def wish(self) -> Wish:
        data = self.cleaned_data
        return Wish(data["name"], data["region"], data["offer"], data["size_gib"])


class GrowForm(ProblemForm):
    size_gib = forms.IntegerField(
        label="New size in GiB", min_value=1, max_value=MOST_GIB,
        widget=forms.NumberInput({"inputmode": "numeric", "autofocus": True}),
    )  # fmt: skip


class NameForm(ProblemForm):
    name = forms.CharField(
        max_length=40, label="New name", widget=forms.TextInput({**PLAIN, "autofocus": True})
    )


class MountForm(ProblemForm):
    """One of `volumes`, at a path."""

    base = forms.IntegerField(widget=forms.HiddenInput)
    volume = forms.ChoiceField(label="Volume")
    path = forms.CharField(
        label="Path", max_length=200, help_text="The same on the login node and on every worker.",
        widget=forms.TextInput({**PLAIN, "class": "mono", "placeholder": "/shared"}),
    )  # fmt: skip
    read_only = forms.BooleanField(required=False, label="Read-only")

    def __init__(self, *args: object, volumes: Sequence[Volume], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.volumes = {volume.slug: volume for volume in volumes}
        self.fields["volume"].choices = [(v.slug, f"{v.slug} ({about_volume(v)})") for v in volumes]  # type: ignore[attr-defined]

    @property
    def chosen_is_dataset(self) -> bool:
        return self.chosen is not None and self.chosen.is_dataset

    @property
    def chosen(self) -> Volume | None:
        return self.volumes.get(str(self["volume"].value() or ""))


def about(offer: Offer) -> str:
    """`Parallel file system (PFS), up to 10240 GiB`."""
    if offer.kind == Kind.DATASET:
        return TITLES[Kind.DATASET]
    return f"{TITLES[Kind(offer.kind)]}, up to {offer.most_gib} GiB"
