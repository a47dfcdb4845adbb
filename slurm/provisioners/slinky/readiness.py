"""Looking at a region, one thing after another. What was seen becomes findings in `ready`, which is pure.

A thing that may not be looked at, or whose answer does not come, is unknown; it never hides the others. Only an API
server that does not answer at all ends the look: then nothing else is known.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from clusters.finding import Finding, State
from console.errors import ConsoleError
from slurm.kube.client import Kube
from slurm.kube.kinds import (
    CRD,
    DEPLOYMENT,
    NAMESPACE,
    NODE,
    POD,
    QUOTA,
    SERVICE,
    SLINKY_GROUP,
    STORAGE_CLASS,
    VALIDATING_WEBHOOKS,
    Kind,
    Thing,
)
from slurm.provisioners.slinky.names import MANAGED_BY, MANAGER
from slurm.provisioners.slinky.permissions import Ask, asks_for
from slurm.provisioners.slinky.ready import api, images, machines, operator, rights, storage, teams
from slurm.provisioners.slinky.region import RegionSettings

OURS = f"{MANAGED_BY}={MANAGER}"
ALIVE = "status.phase!=Succeeded,status.phase!=Failed"
MOST_NAMESPACES = 5
NOT_LOOKED_AT = "Could not be looked at: the API server does not answer."


@dataclass(frozen=True)
class Wanted:
    """What clusters of this region will need, as the console's own rows say."""

    images: tuple[str, ...]
    plans: tuple[machines.Shape, ...]
    offers: tuple[storage.Offered, ...]
    has_database_password: bool
    credential_end: datetime | None
    now: datetime


@dataclass(frozen=True)
class Look:
    """Lists are read when first asked for, and once."""

    kube: Kube
    settings: RegionSettings
    wanted: Wanted

    @cached_property
    def pods(self) -> tuple[Thing, ...]:
        """Everybody's, without those that have ended."""
        return self._all(POD, fields=ALIVE)

    @cached_property
    def machines(self) -> list[machines.Machine]:
        return machines.machines_of(self._all(NODE), self.pods, self.settings)

    @cached_property
    def classes(self) -> tuple[Thing, ...]:
        return self._all(STORAGE_CLASS)

    @cached_property
    def deployments(self) -> tuple[Thing, ...]:
        return self._all(DEPLOYMENT, labels=operator.DEPLOYMENTS)

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """Those of teams that have clusters here."""
        return tuple(one["metadata"]["name"] for one in self._all(NAMESPACE, labels=OURS))

    def _all(self, kind: Kind, *, labels: str = "", fields: str = "") -> tuple[Thing, ...]:
        return self.kube.list(kind, labels=labels, fields=fields).items


def findings(kube: Kube, settings: RegionSettings, wanted: Wanted) -> Iterator[Finding]:
    """Everything, the API server first. Blocks: some hundred small requests."""
    look = Look(kube, settings, wanted)
    try:
        yield api.version_finding(kube.version(), kube.access.server)
    except ConsoleError as error:
        yield Finding("api", "API server", State.BAD, error.message, error.hint)
        yield api.credential_finding(wanted.credential_end, wanted.now)
        yield from (Finding(key, title, State.UNKNOWN, NOT_LOOKED_AT) for key, title, _ in CHECKS)
        return
    yield api.credential_finding(wanted.credential_end, wanted.now)
    for key, title, check in CHECKS:
        try:
            yield check(look)
        except ConsoleError as error:
            yield Finding(key, title, State.UNKNOWN, error.message, error.hint)


def _rights(look: Look) -> Finding:
    answers = {ask: _may(look, ask) for ask in asks_for(look.settings)}
    inside = look.namespaces if None in answers.values() else ()
    return rights.rights_finding(answers, inside)


def _may(look: Look, ask: Ask) -> bool | None:
    """Everywhere, else only in the namespaces of teams (None), else not."""
    if _asked(look, ask, ""):
        return True
    if ask.right.everywhere:
        return False
    try:
        inside = look.namespaces[:MOST_NAMESPACES]
    except ConsoleError:
        return False
    return None if inside and all(_asked(look, ask, namespace) for namespace in inside) else False


def _asked(look: Look, ask: Ask, namespace: str) -> bool:
    right = ask.right
    return look.kube.may(ask.verb, right.plural, right.group, namespace, right.part)


def _resources(look: Look) -> Finding:
    names = {kind.plural: f"{kind.plural}.{SLINKY_GROUP}" for kind in operator.CUSTOM}
    found = {plural: look.kube.find(CRD, name) for plural, name in names.items()}
    return operator.resources_finding({plural: thing for plural, thing in found.items() if thing})


def _webhook(look: Look) -> Finding:
    return operator.webhook_finding(look.kube.list(VALIDATING_WEBHOOKS).items, look.deployments)


def _images(look: Look) -> Finding:
    ours = [pod for pod in look.pods if pod["metadata"].get("labels", {}).get(MANAGED_BY) == MANAGER]
    return images.images_finding(look.wanted.images, ours)


def _login(look: Look) -> Finding:
    services = look.kube.list(SERVICE, labels=OURS).items
    return teams.login_finding(services, look.settings.login_by)


def _database(look: Look) -> Finding:
    return teams.database_finding(look.settings, has_password=look.wanted.has_database_password)


def _clock(look: Look) -> Finding:
    return api.clock_finding((look.kube.clock() - timezone.now()).total_seconds())


CHECKS: tuple[tuple[str, str, Callable[[Look], Finding]], ...] = (
    ("permissions", "Permissions", _rights),
    ("crds", "Operator's custom resources", _resources),
    ("operator", "Operator", lambda look: operator.operator_finding(look.deployments)),
    ("webhook", "Operator's webhook", _webhook),
    (
        "storage",
        "Storage for controllers",
        lambda look: storage.state_finding(
            look.classes, look.settings.storage_class, look.settings.state_size
        ),
    ),
    ("shared-storage", "Storage shared by machines", lambda look: storage.shared_finding(look.classes)),
    (
        "offers",
        "Volumes on offer",
        lambda look: storage.offers_finding(look.wanted.offers, look.classes, look.settings.storage_class),
    ),
    ("gpus", "GPUs", lambda look: machines.gpus_finding(look.machines, look.settings)),
    ("plans", "Plans", lambda look: machines.plans_finding(look.wanted.plans, look.machines)),
    ("images", "Images", _images),
    ("database", "Accounting's database", _database),
    ("login", "Login nodes", _login),
    (
        "quotas",
        "Quotas",
        lambda look: teams.quota_finding(look.kube.list(QUOTA).items, look.settings.namespace_prefix),
    ),
    ("clock", "Clock", _clock),
)
