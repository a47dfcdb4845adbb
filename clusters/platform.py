"""The port between a region and the platform behind it: what belongs to a region rather than to one of its clusters.

Adapters live in `slurm.provisioners` and are found by dotted path in `settings.PLATFORMS`, under the same names as in
`settings.PROVISIONERS`. Pages, the API and the task that checks regions know this protocol alone: none of them asks
which platform it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from clusters.finding import Finding
from clusters.region_form import RegionForm
from console.errors import Missing


@dataclass(frozen=True)
class RegionRef:
    """Which region, for an adapter. `config` is its own document; secrets are sealed under `region:<slug>`."""

    slug: str
    config: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class LoginsHere:
    """Whether clusters of a region can have login users. Each is a sentence or two, and empty where all is as it should
    be: `why_not` says why they cannot, `caveat` what they only look like."""

    why_not: str = ""
    caveat: str = ""


class Platform(Protocol):
    """`title` and `about` introduce the kind of platform to who registers a region; `form` asks what it needs."""

    title: ClassVar[str]
    about: ClassVar[str]
    form: ClassVar[type[RegionForm]]

    def __init__(self, ref: RegionRef) -> None: ...

    def readiness(self) -> tuple[Finding, ...]:
        """Look at everything that clusters here need. Blocks, some seconds at most; never raises for what it finds."""
        ...

    def offers(self, slurm_version: str) -> bool:
        """Whether clusters of this Slurm version (`24.11`) can run here. Pure."""
        ...

    def mount_caveat(self) -> str:
        """What mounts of volumes only look like here, in a sentence; empty where they are true. Quick."""
        ...

    def logins(self) -> LoginsHere:
        """Quick."""
        ...

    def documents(self) -> Mapping[str, str]:
        """Files to hand out, by name: what somebody has to apply there by hand. Pure."""
        ...


def platform_kinds() -> dict[str, type[Platform]]:
    """Every kind that a region may be of, by the name of its provisioner."""
    return {kind: import_string(path) for kind, path in settings.PLATFORMS.items()}


def platform_named(kind: str, ref: RegionRef) -> Platform:
    """The adapter of `kind` for one region. Quick: adapters connect late. Raises Missing."""
    return platform_kind(kind)(ref)


def platform_kind(kind: str) -> type[Platform]:
    """Raises Missing for a kind that this console does not have."""
    found = platform_kinds().get(kind)
    if found is None:
        raise Missing(f"This console has no provisioner {kind}.", f"It has {', '.join(settings.PLATFORMS)}.")
    return found
