"""Forms of clusters: what was typed, kept as typed, and problems of a spec put at the fields that they are about."""

import re
from collections.abc import Iterable, Iterator, Sequence

from django import forms

from clusters.cloning import next_name
from clusters.hostlist import HostlistError, expand
from clusters.inventory import images_of
from clusters.models import Cluster, Plan, Region
from clusters.mountable import MountOrder, mounts_for, offered
from clusters.order import Order
from clusters.platform import LoginsHere
from clusters.readiness import trouble
from clusters.scaling import GROUPS, misfits
from clusters.spec import CPU_GROUP, GPU_GROUP, ClusterSpec, Shape
from console.errors import Problem, Rejected
from console.models import Team
from console.numbers import typed_number

MOST_SHOWN_NODES = 4096
PATH_INPUT = {"class": "mono", "autocomplete": "off", "spellcheck": "false"}


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
        help_text="Public keys that may sign in to the login node as root, one a line. People's own keys are in their "
        "profiles.",
        widget=forms.Textarea(
            attrs={
                "rows": 3,
                "class": "mono",
                "spellcheck": "false",
                "placeholder": "ssh-ed25519 AAAA… you@host",
            }
        ),
    )
    login_users = forms.BooleanField(required=False, label="Everybody signs in as themselves")
    homes = forms.ChoiceField(label="Homes", required=False)
    keeps_conf = forms.BooleanField(
        required=False, label="Copy its slurm.conf, own partitions and other settings too"
    )
    source = forms.SlugField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, *args: object, regions: Sequence[Region], team: Team | None = None, **kwargs: object
    ) -> None:
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
        self.volumes = offered(team, chosen[0]) if team and chosen else ()
        for volume in self.volumes:
            self.fields[path_field(volume.key)] = forms.CharField(
                max_length=200,
                required=False,
                label=volume.name,
                help_text=volume.about,
                widget=forms.TextInput(attrs={**PATH_INPUT, "placeholder": f"/{volume.name}"}),
            )
            self.fields[read_only_field(volume.key)] = forms.BooleanField(
                required=False, label="Read-only", disabled=volume.is_read_only, initial=volume.is_read_only
            )
        self.logins = chosen[0].platform.logins() if chosen else LoginsHere()
        if self.logins.why_not:
            self.fields["login_users"].disabled = True
            self.initial = {**self.initial, "login_users": False}
        writable = [volume for volume in self.volumes if not volume.is_read_only]
        self._offer(
            "homes", [("", "On the cluster itself"), *((one.key, f"On {one.name}") for one in writable)]
        )
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
            mounts=mounts_for(self._mounts(), self.volumes),
            login_users=data["login_users"],
            homes=str(data.get(path_field(data["homes"]), "")).strip() if data["homes"] else "",
        )

    def clean(self) -> dict[str, object] | None:
        """A volume that holds homes is mounted somewhere."""
        data = super().clean() or self.cleaned_data
        homes = data.get("homes")
        if data.get("login_users") and homes and not str(data.get(path_field(str(homes)), "")).strip():
            self.add_error(
                "homes", "Give this volume a path above, /home for example, or choose another place."
            )
        return data

    def _mounts(self) -> Iterator[MountOrder]:
        """Volumes with a path, by their paths: so they stand in the spec."""
        typed = {volume: str(self.cleaned_data[path_field(volume.key)]).strip() for volume in self.volumes}
        for volume in sorted((one for one in self.volumes if typed[one]), key=lambda one: typed[one]):
            is_read_only = bool(self.cleaned_data[read_only_field(volume.key)])
            yield MountOrder(volume.name, typed[volume], is_read_only)

    @property
    def volume_fields(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """Path and read-only of each volume that may be mounted."""
        return [(self[path_field(one.key)], self[read_only_field(one.key)]) for one in self.volumes]

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
        if path.startswith("logins"):
            return "homes" if path == "logins.homes" else "login_users"
        if (found := re.match(r"mounts\[(\d+)\]", path)) and spec:
            name = path_field(spec.mounts[int(found[1])].volume)
            return name if name in self.fields else None
        if (found := re.match(r"groups\[(\d+)\]\.(\w+)", path)) and spec:
            group = spec.groups[int(found[1])].name
            kind = "gpu" if group == GPU_GROUP else "cpu"
            return f"{kind}_{'plan' if found[2] == 'shape' else 'nodes'}"
        return None


def path_field(volume: str) -> str:
    return f"mount-{volume}"


def read_only_field(volume: str) -> str:
    return f"read-only-{volume}"


def is_field(name: str) -> bool:
    """Whether it can be one of the create form's, whatever volumes there are."""
    return name in CreateForm.base_fields or name.startswith((path_field(""), read_only_field("")))


def initial_from(cluster: Cluster) -> dict[str, object]:
    """The form filled in to make another one like `cluster`."""
    spec = cluster.spec
    values: dict[str, object] = {
        "name": next_name(cluster),
        "region": cluster.region.slug,
        "image": spec.image,
        "ssh_keys": "\n".join(spec.ssh_keys),
        "source": cluster.slug,
        "keeps_conf": True,
        "login_users": spec.logins.on,
    }
    for group, kind in ((GPU_GROUP, "gpu"), (CPU_GROUP, "cpu")):
        found = spec.group(group)
        values[f"{kind}_plan"] = found.shape.plan if found else ""
        values[f"{kind}_nodes"] = len(found.ordinals) if found else 0
    for mount in spec.mounts:
        values |= {path_field(mount.volume): mount.path, read_only_field(mount.volume): mount.read_only}
        if spec.logins.on and mount.path == spec.logins.homes:
            values["homes"] = mount.volume
    return values


def plan_field(group: str) -> str:
    return f"plan-{group}"


class ScaleForm(forms.Form):
    """A count for each group, which nodes go when it is fewer, and whether jobs on them are ended (`force`) or waited
    for. A group that `spec` does not have yet is there with the plans of its kind, where the region has any."""

    base = forms.IntegerField(widget=forms.HiddenInput)
    leaving = forms.CharField(
        required=False,
        max_length=4000,
        label="Nodes that go",
        help_text="When there are to be fewer: for example slinky-1. Left empty, those with the highest numbers go.",
        widget=forms.TextInput(attrs={"class": "mono", "autocomplete": "off", "spellcheck": "false"}),
    )

    force = forms.BooleanField(required=False)

    def __init__(
        self, *args: object, spec: ClusterSpec, plans: Iterable[Plan] = (), **kwargs: object
    ) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.spec = spec
        self.plans = {plan.slug: plan for plan in plans}
        for group in spec.groups:
            at_zero = " 0 takes the group and its partition away." if len(spec.groups) > 1 else ""
            self._add(
                group.name,
                f"{len(group.ordinals)} now, each {group.shape.plan}.{at_zero}",
                len(group.ordinals),
            )
        for name in self.absent:
            self._add(name, "None yet.", 0)
            self.fields[plan_field(name)] = forms.ChoiceField(
                label=f"Machines of {name}",
                required=False,
                choices=[(plan.slug, plan.name) for plan in self._plans_of(name)],
            )

    def _add(self, name: str, help_text: str, initial: int) -> None:
        self.fields[name] = forms.IntegerField(
            min_value=0, max_value=MOST_SHOWN_NODES, label=name, help_text=help_text, initial=initial
        )

    def _plans_of(self, group: str) -> list[Plan]:
        return [plan for plan in self.plans.values() if bool(plan.gpus) == (group == GPU_GROUP)]

    @property
    def absent(self) -> list[str]:
        """Groups that may come to be here."""
        return [name for name in GROUPS if self.spec.group(name) is None and self._plans_of(name)]

    @property
    def group_fields(self) -> list[forms.BoundField]:
        return [self[group.name] for group in self.spec.groups]

    @property
    def absent_fields(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """Plan and number."""
        return [(self[plan_field(name)], self[name]) for name in self.absent]

    @property
    def counts(self) -> dict[str, int]:
        """What is typed, as far as it is a number that a group may have: more would be counted out in memory."""
        names = [*(group.name for group in self.spec.groups), *self.absent]
        typed = {name: typed_number(str(self[name].value()), most=MOST_SHOWN_NODES) for name in names}
        return {name: number for name, number in typed.items() if number is not None}

    @property
    def shapes(self) -> dict[str, Shape]:
        """The machines that are chosen for groups that come to be."""
        chosen = {name: self.plans.get(str(self[plan_field(name)].value() or "")) for name in self.absent}
        fitting = {name: plan for name, plan in chosen.items() if plan in self._plans_of(name)}
        return {name: plan.shape for name, plan in fitting.items() if plan}

    def clean(self) -> dict[str, object]:
        data: dict[str, object] = super().clean() or {}
        for name in self.absent:
            if self.counts.get(name) and name not in self.shapes:
                self.add_error(plan_field(name), "Choose what machines they are.")
        return data

    @property
    def chosen(self) -> tuple[str, ...]:
        """The named nodes; none while what is typed is no list of hosts."""
        try:
            return expand(str(self["leaving"].value() or "").replace(" ", ""))
        except HostlistError:
            return ()

    def placed(self, error: Rejected, spec: ClusterSpec) -> Rejected:
        """Problems of a group of `spec` are put at its field; what is left of `error` comes above the form."""
        rest = []
        for problem in error.problems:
            found = re.match(r"groups\[(\d+)\]", problem.path)
            if found:
                name = spec.groups[int(found[1])].name
                self.add_error(name, f"{problem.message} {problem.hint}".strip())
            else:
                rest.append(problem)
        return Rejected(f"{spec.name} was not changed.", tuple(rest)) if self.errors else error

    def clean_leaving(self) -> str:
        typed = str(self.cleaned_data["leaving"]).replace(" ", "")
        try:
            problems = list(misfits(self.spec, self.counts, expand(typed)))
        except HostlistError as error:
            raise forms.ValidationError(f"{error}.") from error
        if problems:
            raise forms.ValidationError([f"{one.message} {one.hint}" for one in problems])
        return typed
