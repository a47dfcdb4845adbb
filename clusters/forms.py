"""Forms of clusters: what was typed, kept as typed, and problems of a spec put at the fields that they are about."""

import re
from collections.abc import Iterable, Sequence

from django import forms

from clusters.hostlist import HostlistError, expand
from clusters.inventory import images_of
from clusters.models import Cluster, Plan, Region
from clusters.order import Order
from clusters.readiness import trouble
from clusters.scaling import misfits
from clusters.spec import CPU_GROUP, GPU_GROUP, ClusterSpec
from console.errors import Problem
from console.numbers import typed_number

MOST_SHOWN_NODES = 4096


class CreateForm(forms.Form):
    """A new cluster. `regions` are those that may be chosen; plans and `trouble` (a Finding) are the chosen one's."""

    name = forms.CharField(
        max_length=40,
        label="Name",
        help_text="Lower-case letters, digits and hyphens. It is the cluster's address and cannot change.",
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "off", "spellcheck": "false"}),
    )
    region = forms.ChoiceField(label="Region")
    image = forms.ChoiceField(label="Slurm version", help_text="The image that all nodes start from.")
    gpu_plan = forms.ChoiceField(label="GPU machines", required=False, widget=forms.RadioSelect)
    gpu_nodes = forms.IntegerField(label="Number", min_value=0, max_value=MOST_SHOWN_NODES, required=False)
    cpu_plan = forms.ChoiceField(label="CPU machines", required=False, widget=forms.RadioSelect)
    cpu_nodes = forms.IntegerField(label="Number", min_value=0, max_value=MOST_SHOWN_NODES, required=False)
    ssh_keys = forms.CharField(
        label="SSH keys",
        required=False,
        help_text="Public keys that may sign in to the login node, one a line. More can be added later.",
        widget=forms.Textarea(
            attrs={
                "rows": 3,
                "class": "mono",
                "spellcheck": "false",
                "placeholder": "ssh-ed25519 AAAA… you@host",
            }
        ),
    )
    keeps_conf = forms.BooleanField(required=False, label="Copy its slurm.conf and own partitions too")
    source = forms.SlugField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: object, regions: Sequence[Region], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.regions = regions
        asked = str(self["region"].value() or (regions[0].slug if regions else ""))
        chosen = [region for region in regions if region.slug == asked]
        self.trouble = trouble(chosen[0]) if chosen else None
        self.plans = list(Plan.objects.filter(region__in=chosen).order_by("slug"))
        self.gpu_plans = [plan for plan in self.plans if plan.gpus]
        self.cpu_plans = [plan for plan in self.plans if not plan.gpus]
        self._offer("region", [(region.slug, region.name) for region in regions])
        images = images_of(chosen[0]) if chosen else []
        self._offer("image", [(image.slug, image.name) for image in images])
        self._offer("gpu_plan", [(plan.slug, plan.name) for plan in self.gpu_plans])
        self._offer("cpu_plan", [(plan.slug, plan.name) for plan in self.cpu_plans])

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]

    @property
    def order(self) -> Order:
        """What the valid form orders."""
        data = self.cleaned_data
        return Order(
            name=data["name"],
            region=data["region"],
            image=data["image"],
            gpu_plan=data["gpu_plan"],
            gpu_nodes=data["gpu_nodes"] or 0,
            cpu_plan=data["cpu_plan"],
            cpu_nodes=data["cpu_nodes"] or 0,
            ssh_keys=tuple(line.strip() for line in data["ssh_keys"].splitlines() if line.strip()),
        )

    def show_problems(self, problems: Iterable[Problem], spec: ClusterSpec | None) -> None:
        """Put each at its field; what has no field here comes above the form."""
        for problem in problems:
            text = f"{problem.message} {problem.hint}".strip()
            self.add_error(self._field_of(problem.path, spec), text)

    def _field_of(self, path: str, spec: ClusterSpec | None) -> str | None:
        if path in self.fields:
            return path
        if path.startswith("ssh_keys"):
            return "ssh_keys"
        if (found := re.match(r"groups\[(\d+)\]\.(\w+)", path)) and spec:
            group = spec.groups[int(found[1])].name
            kind = "gpu" if group == GPU_GROUP else "cpu"
            return f"{kind}_{'plan' if found[2] == 'shape' else 'nodes'}"
        return None


def initial_from(cluster: Cluster) -> dict[str, object]:
    """The form filled in to make another one like `cluster`."""
    spec = cluster.spec
    values: dict[str, object] = {
        "name": _next_name(cluster),
        "region": cluster.region.slug,
        "image": spec.image,
        "ssh_keys": "\n".join(spec.ssh_keys),
        "source": cluster.slug,
        "keeps_conf": True,
    }
    for group, kind in ((GPU_GROUP, "gpu"), (CPU_GROUP, "cpu")):
        found = spec.group(group)
        values[f"{kind}_plan"] = found.shape.plan if found else ""
        values[f"{kind}_nodes"] = len(found.ordinals) if found else 0
    return values


def _next_name(cluster: Cluster) -> str:
    """`demo-2` for `demo`, the first number that the team does not use."""
    stem = re.sub(r"-\d+$", "", cluster.slug)[:36]
    taken = set(cluster.team.clusters.values_list("slug", flat=True))
    return next(name for n in range(2, len(taken) + 3) if (name := f"{stem}-{n}") not in taken)


class ScaleForm(forms.Form):
    """A count for each group of `spec`, which nodes go when it is fewer, and whether jobs on them are ended (`force`)
    or waited for."""

    base = forms.IntegerField(widget=forms.HiddenInput)
    leaving = forms.CharField(
        required=False,
        max_length=4000,
        label="Nodes that go",
        help_text="When there are to be fewer: for example slinky-1. Left empty, those with the highest numbers go.",
        widget=forms.TextInput(attrs={"class": "mono", "autocomplete": "off", "spellcheck": "false"}),
    )

    force = forms.BooleanField(required=False)

    def __init__(self, *args: object, spec: ClusterSpec, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.spec = spec
        for group in spec.groups:
            self.fields[group.name] = forms.IntegerField(
                min_value=0,
                max_value=MOST_SHOWN_NODES,
                label=f"{group.name}",
                help_text=f"{len(group.ordinals)} now, each {group.shape.plan}",
                initial=len(group.ordinals),
            )

    @property
    def group_fields(self) -> list[forms.BoundField]:
        return [self[group.name] for group in self.spec.groups]

    @property
    def counts(self) -> dict[str, int]:
        """What is typed, as far as it is a number that a group may have: more would be counted out in memory."""
        typed = {
            group.name: typed_number(str(self[group.name].value()), most=MOST_SHOWN_NODES)
            for group in self.spec.groups
        }
        return {name: number for name, number in typed.items() if number is not None}

    @property
    def chosen(self) -> tuple[str, ...]:
        """The named nodes; none while what is typed is no list of hosts."""
        try:
            return expand(str(self["leaving"].value() or "").replace(" ", ""))
        except HostlistError:
            return ()

    def clean_leaving(self) -> str:
        typed = str(self.cleaned_data["leaving"]).replace(" ", "")
        try:
            problems = list(misfits(self.spec, self.counts, expand(typed)))
        except HostlistError as error:
            raise forms.ValidationError(f"{error}.") from error
        if problems:
            raise forms.ValidationError([f"{one.message} {one.hint}" for one in problems])
        return typed
