"""What a region of the slinky provisioner is asked for. `RegionSettings` is the document that comes of it."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import msgspec
from django import forms
from django.core.validators import RegexValidator

from clusters.region_form import PLAIN, Purpose, RegionForm, Section
from console.errors import Rejected
from slurm.kube.access import MOST_BYTES, read_kubeconfig
from slurm.provisioners.slinky.region import (
    DATABASE_PASSWORD,
    KUBECONFIG,
    DatabaseKind,
    LoginBy,
    RegionSettings,
    Toleration,
    settings_of,
)

T = TypeVar("T")
_MONO = {**PLAIN, "class": "mono"}
_LABEL = r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SELECTOR = re.compile(rf"(?P<key>{_LABEL})=(?P<value>{_VALUE})")
_TOLERATION = re.compile(rf"(?P<key>{_LABEL})(=(?P<value>{_VALUE}))?(:(?P<effect>{'|'.join(_EFFECTS)}))?")
_DNS_LABEL = RegexValidator(
    r"^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$", "Up to 20 lower-case letters, digits and hyphens."
)
_DNS_NAME = RegexValidator(
    r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$", "Lower-case letters, digits, hyphens and dots."
)
_IMAGE = RegexValidator(
    r"^[a-z0-9][a-z0-9._:/@-]{0,252}[a-z0-9]$", "An image's name, without blanks or upper case."
)
_QUANTITY = RegexValidator(r"^[1-9][0-9]{0,5}(Mi|Gi|Ti)$", "A size like 4Gi.")
_RESOURCE = RegexValidator(rf"^{_LABEL}$", "A resource's name like nvidia.com/gpu.")
# Fields that are one setting each, under the same name.
_PLAIN = (
    *("namespace_prefix", "images", "image_suffix", "log_image", "storage_class", "state_size", "login_by"),
    *("gpu_resource", "gpu_detect", "gpu_selector", "gpu_tolerations", "shadow_pods"),
)
_ACCOUNT = RegexValidator(r"^[A-Za-z0-9_]{1,32}$", "Up to 32 letters, digits and underscores.")


class SecretArea(forms.Textarea):
    """A text that is never sent back, not even with the errors of what stands beside it."""

    def format_value(self, value: object) -> str | None:
        return None


def _text(label: str, help_text: str = "", **options: Any) -> forms.CharField:
    """A short machine-read text. `options` are Django's own for a field."""
    return forms.CharField(
        label=label, help_text=help_text, max_length=253, widget=forms.TextInput(attrs=_MONO), **options
    )


def _area(label: str, help_text: str) -> forms.CharField:
    widget = forms.Textarea(attrs={**_MONO, "rows": 2})
    return forms.CharField(label=label, help_text=help_text, required=False, max_length=4000, widget=widget)


class SlinkyForm(RegionForm):
    """The kubeconfig is checked when it is typed and sealed as it was typed; nothing of it is ever shown again."""

    connection = forms.ChoiceField(
        label="The console reaches the API",
        choices=[
            ("kubeconfig", "with a kubeconfig"),
            ("in-cluster", "as its own pod's service account: the console runs in this cluster"),
        ],
        widget=forms.RadioSelect,
    )
    kubeconfig = forms.CharField(
        label="kubeconfig",
        required=False,
        max_length=MOST_BYTES,
        strip=False,
        help_text="Of an account with the permissions above. It is sealed and never shown again.",
        widget=SecretArea(attrs={**_MONO, "rows": 5, "placeholder": "apiVersion: v1\nkind: Config\n…"}),
    )
    kubeconfig_file = forms.FileField(label="or as a file", required=False)
    namespace_prefix = _text(
        "Namespace prefix", "A team's clusters live in PREFIX-TEAM.", validators=[_DNS_LABEL]
    )
    images = _text("Images", "The registry folder with the operator's images.", validators=[_IMAGE])
    image_suffix = _text(
        "Tag's ending", "Their tag is Slurm's version and this: 26.05-ubuntu24.04.", required=False
    )
    log_image = _text("Log image", "A small image with sh and tail.", validators=[_IMAGE])
    storage_class = _text(
        "Storage class", "Empty takes the cluster's default.", required=False, validators=[_DNS_NAME]
    )
    state_size = _text("Controller's state", "The size of each controller's volume.", validators=[_QUANTITY])
    login_by = forms.ChoiceField(
        label="Login nodes are reached by",
        choices=[
            (LoginBy.LOAD_BALANCER.value, "a load balancer for each"),
            (LoginBy.NODE_PORT.value, "a port on every machine"),
            (LoginBy.PORT_FORWARD.value, "the browser's terminal only, through the API server"),
        ],
        widget=forms.RadioSelect,
    )
    database = forms.ChoiceField(
        label="Accounting is kept in",
        choices=[
            (DatabaseKind.OWN.value, "a MariaDB beside each cluster"),
            (DatabaseKind.EXISTING.value, "a MariaDB or MySQL server that is there"),
        ],
        widget=forms.RadioSelect,
    )
    database_image = _text("Image", required=False, validators=[_IMAGE])
    database_size = _text("Volume", required=False, validators=[_QUANTITY])
    database_host = _text("Server", "As pods reach it.", required=False, validators=[_DNS_NAME])
    database_port = forms.IntegerField(label="Port", min_value=1, max_value=65_535, required=False)
    database_username = _text(
        "User",
        "May create databases whose names begin with slurm_acct_.",
        required=False,
        validators=[_ACCOUNT],
    )
    database_password = forms.CharField(
        label="Password",
        required=False,
        max_length=256,
        strip=False,
        help_text="Sealed and never shown again.",
        widget=forms.PasswordInput(attrs={**PLAIN, "autocomplete": "new-password"}),
    )
    gpu_resource = _text("GPU resource", "What the device plugin calls a GPU.", validators=[_RESOURCE])
    gpu_detect = forms.ChoiceField(
        label="GPUs are found by",
        choices=[
            ("nvidia", "nvidia"),
            ("nvml", "nvml"),
            ("rsmi", "rsmi"),
            ("oneapi", "oneapi"),
            ("off", "nobody"),
        ],
        help_text="AutoDetect in gres.conf(5). The nodes' images must have the library.",
    )
    gpu_selector = _area("Machines with GPUs", "Labels that they carry, KEY=VALUE, one a line.")
    gpu_tolerations = _area("Taints to tolerate", "KEY, KEY=VALUE or KEY:EFFECT, one a line.")
    shadow_pods = forms.BooleanField(
        label="Read each slurm.conf in a short pod first",
        required=False,
        help_text="A real slurmctld says what is wrong with it. Needs the permission to create pods.",
    )

    sections: ClassVar[tuple[Section, ...]] = (
        Section("Access", "", ("connection", "kubeconfig", "kubeconfig_file")),
        Section(
            "Clusters",
            "What every cluster here is made with.",
            (
                "namespace_prefix",
                "images",
                "image_suffix",
                "log_image",
                "storage_class",
                "state_size",
                "shadow_pods",
            ),
        ),
        Section("Login nodes", "", ("login_by",)),
        Section("Accounting", "", ("database",)),
        Section(
            "A MariaDB beside each cluster", "Where that is chosen.", ("database_image", "database_size")
        ),
        Section(
            "A database server that is there",
            "Where that is chosen. Each cluster gets a database of its own in it.",
            ("database_host", "database_port", "database_username", "database_password"),
        ),
        Section("GPUs", "", ("gpu_resource", "gpu_detect", "gpu_selector", "gpu_tolerations")),
    )
    secret_fields: ClassVar[frozenset[str]] = frozenset(
        {"kubeconfig", "kubeconfig_file", "database_password"}
    )
    settled_fields: ClassVar[frozenset[str]] = frozenset({"namespace_prefix", "database"})

    @classmethod
    def initial_from(cls, config: Mapping[str, object]) -> dict[str, object]:
        try:
            settings = settings_of(config)
        except msgspec.ValidationError:
            settings = RegionSettings()
        database = settings.database
        return {
            "connection": "in-cluster" if settings.in_cluster else "kubeconfig",
            "namespace_prefix": settings.namespace_prefix,
            "images": settings.images,
            "image_suffix": settings.image_suffix,
            "log_image": settings.log_image,
            "storage_class": settings.storage_class,
            "state_size": settings.state_size,
            "login_by": settings.login_by.value,
            "database": database.kind.value,
            "database_image": database.image,
            "database_size": database.size,
            "database_host": database.host,
            "database_port": database.port,
            "database_username": database.username,
            "gpu_resource": settings.gpu_resource,
            "gpu_detect": settings.gpu_detect,
            "gpu_selector": "\n".join(f"{key}={value}" for key, value in settings.gpu_selector.items()),
            "gpu_tolerations": "\n".join(_toleration_text(one) for one in settings.gpu_tolerations),
            "shadow_pods": settings.shadow_pods,
        }

    @classmethod
    def summary(cls, config: Mapping[str, object]) -> list[tuple[str, str]]:
        """Without what the kind of database makes idle."""
        is_own = cls.initial_from(config)["database"] == DatabaseKind.OWN
        idle = ("host", "port", "username") if is_own else ("image", "size")
        labels = {str(cls.base_fields[f"database_{name}"].label) for name in idle}
        return [(label, value) for label, value in super().summary(config) if label not in labels]

    @property
    def config(self) -> dict[str, object]:
        data = self.cleaned_data
        database = {"kind": data["database"], "host": data["database_host"]}
        given = {"port": data["database_port"], "username": data["database_username"]}
        given |= {"image": data["database_image"], "size": data["database_size"]}
        return {
            "in_cluster": data["connection"] == "in-cluster",
            **{name: data[name] for name in _PLAIN},
            "database": {**database, **{name: value for name, value in given.items() if value}},
        }

    @property
    def secrets(self) -> dict[str, bytes]:
        data = self.cleaned_data
        typed = {KUBECONFIG: data.get("kubeconfig"), DATABASE_PASSWORD: data.get("database_password")}
        return {kind: text.encode() for kind, text in typed.items() if text}

    def clean_gpu_selector(self) -> dict[str, str]:
        found = _lines(
            self.cleaned_data["gpu_selector"], _SELECTOR, lambda match: (match["key"], match["value"])
        )
        return dict(found)

    def clean_gpu_tolerations(self) -> list[dict[str, str]]:
        return list(_lines(self.cleaned_data["gpu_tolerations"], _TOLERATION, _toleration))

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if "kubeconfig" in self.fields:
            self._clean_kubeconfig(data)
        if self.purpose is not Purpose.CREDENTIALS:
            self._clean_database(data)
        if self.purpose is Purpose.SETTINGS:
            self._want_kept(data.get("connection") == "kubeconfig", KUBECONFIG, "connection", "kubeconfig")
            is_there = data.get("database") == DatabaseKind.EXISTING
            self._want_kept(is_there, DATABASE_PASSWORD, "database", "database password")
        return data

    def _clean_kubeconfig(self, data: dict[str, Any]) -> None:
        uploaded = data.get("kubeconfig_file")
        text = _uploaded_text(self, uploaded) if uploaded else data.get("kubeconfig") or ""
        data["kubeconfig"] = text if text.strip() else ""
        if data["kubeconfig"]:
            self._check_kubeconfig(text)
        elif self.purpose is Purpose.REGISTER and data.get("connection") == "kubeconfig" and not self.errors:
            self.add_error("kubeconfig", "Paste a kubeconfig, or choose its file.")
        elif self.purpose is Purpose.CREDENTIALS and not data.get("database_password") and not self.errors:
            self.add_error("kubeconfig", "Paste what should replace it, or type a new password below.")

    def _check_kubeconfig(self, text: str) -> None:
        try:
            read_kubeconfig(text)
        except Rejected as error:
            for problem in error.problems:
                where = problem.path.removeprefix("kubeconfig").removeprefix(".")
                said = f"{problem.message} {problem.hint}".strip()
                self.add_error("kubeconfig", f"{where}: {said}" if where else said)

    def _clean_database(self, data: dict[str, Any]) -> None:
        if data.get("database") != DatabaseKind.EXISTING:
            return
        for name in ("database_host", "database_username"):
            if not data.get(name) and name not in self.errors:
                self.add_error(name, "Needed for a server that is there.")
        if self.purpose is Purpose.REGISTER and not data.get("database_password"):
            self.add_error("database_password", "Needed for a server that is there.")

    def _want_kept(self, is_wanted: bool, kind: str, field: str, words: str) -> None:
        if is_wanted and kind not in self.kept:
            self.add_error(field, f"There is no {words} yet: add it under “Replace credentials” first.")


def _uploaded_text(form: SlinkyForm, uploaded: Any) -> str:
    """The file's text; what is wrong with it is said at its field. An upload has no type of its own in Django."""
    if uploaded.size > MOST_BYTES:
        form.add_error("kubeconfig_file", f"This is larger than {MOST_BYTES >> 10} KiB: not a kubeconfig.")
        return ""
    try:
        text: str = uploaded.read().decode()
    except UnicodeDecodeError:
        form.add_error("kubeconfig_file", "This is not text.")
        return ""
    return text


def _lines(text: str, pattern: re.Pattern[str], read: Callable[[re.Match[str]], T]) -> Iterator[T]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = pattern.fullmatch(line.strip())
        if match is None:
            raise forms.ValidationError(f"Line {number} is not of that form.")
        yield read(match)


def _toleration(match: re.Match[str]) -> dict[str, str]:
    value = match["value"]
    operator = "Equal" if value is not None else "Exists"
    return {"key": match["key"], "operator": operator, "value": value or "", "effect": match["effect"] or ""}


def _toleration_text(one: Toleration) -> str:
    value = f"={one.value}" if one.operator == "Equal" else ""
    return f"{one.key}{value}{f':{one.effect}' if one.effect else ''}"
