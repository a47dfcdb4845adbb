"""A Kubernetes region behind the `Platform` port."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import ClassVar

import msgspec
from django.utils import timezone

from clusters.finding import Finding, State
from clusters.models import Image, Plan
from clusters.platform import LoginsHere, RegionRef
from clusters.region_form import RegionForm
from console import secrets
from console.errors import ConsoleError, Missing
from slurm.kube.access import read_kubeconfig
from slurm.kube.pem import certificate_end, token_end
from slurm.provisioners.slinky.permissions import documents
from slurm.provisioners.slinky.readiness import Wanted, findings
from slurm.provisioners.slinky.ready.machines import Shape
from slurm.provisioners.slinky.ready.storage import Offered
from slurm.provisioners.slinky.region import DATABASE_PASSWORD, KUBECONFIG, RegionSettings, settings_of
from slurm.provisioners.slinky.region_form import SlinkyForm
from slurm.provisioners.slinky.region_kube import kube_of
from storage.models import Offer

# The operator's probes ask slurmctld and slurmd by HTTP, which Slurm answers since this release.
LEAST_SLURM = (25, 11)
PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "login")


class SlinkyPlatform:
    title: ClassVar[str] = "Kubernetes with the Slinky operator"
    about: ClassVar[str] = (
        "Slurm as workloads of a Kubernetes cluster with slurm-operator 1.2, on its machines and their GPUs."
    )
    form: ClassVar[type[RegionForm]] = SlinkyForm

    def __init__(self, ref: RegionRef) -> None:
        self.ref = ref

    def readiness(self) -> tuple[Finding, ...]:
        try:
            settings = settings_of(self.ref.config)
        except msgspec.ValidationError as error:
            hint = "Open the settings and save them again, or correct the document on the admin site."
            return (Finding("settings", "Settings", State.BAD, f"They cannot be read: {error}.", hint),)
        try:
            kube = kube_of(self.ref.slug, settings)
            wanted = self._wanted(settings)
        except Missing:
            hint = "Put one in under “Replace credentials”."
            return (Finding("api", "API server", State.BAD, "There is no kubeconfig.", hint),)
        except ConsoleError as error:
            return (Finding("api", "API server", State.BAD, error.message, error.hint),)
        return tuple(findings(kube, settings, wanted))

    def offers(self, slurm_version: str) -> bool:
        return tuple(int(part) for part in slurm_version.split(".")[:2]) >= LEAST_SLURM

    def mount_caveat(self) -> str:
        return ""

    def logins(self) -> LoginsHere:
        """Only the login image carries sssd (slurm-operator issue 129): a uid that the controller and the workers
        cannot look up runs no job, and the operator has no field for users of its own. Lists of users that are mounted
        over /etc/passwd file by file (subPath) are never renewed in a running pod (Kubernetes), so that each new user
        would restart every worker; a directory of them is, and takes libnss-extrausers in every image.
        """
        return LoginsHere(
            "There are no login users on Kubernetes: a job runs as its user only where the controller and every worker "
            "know that user, and Slinky's images look users up on the login node alone. It would take images of your "
            "own for slurmctld, slurmd and login that all ask one directory (sssd with LDAP or Active Directory). So "
            "everybody is root here, with the terminal and with the cluster's SSH keys. Where people must be kept "
            "apart, give each group a cluster of its own; who submitted which job on these pages is known in any case."
        )

    def documents(self) -> Mapping[str, str]:
        return documents(settings_of(self.ref.config))

    def _wanted(self, settings: RegionSettings) -> Wanted:
        return Wanted(
            images=tuple(self._images(settings)),
            plans=tuple(self._plans()),
            offers=tuple(self._offers()),
            has_database_password=secrets.has(f"region:{self.ref.slug}", DATABASE_PASSWORD),
            credential_end=None if settings.in_cluster else self._credential_end(),
            now=timezone.now(),
        )

    def _images(self, settings: RegionSettings) -> Iterator[str]:
        versions = set(Image.objects.filter(enabled=True).values_list("slurm_version", flat=True))
        for version in sorted(filter(self.offers, versions)):
            yield from (
                f"{settings.images}/{program}:{version}{settings.image_suffix}" for program in PROGRAMS
            )

    def _plans(self) -> Iterator[Shape]:
        for plan in Plan.objects.filter(region__slug=self.ref.slug).order_by("slug"):
            yield Shape(plan.slug, plan.gpus, plan.cpus, plan.memory_mib)

    def _offers(self) -> Iterator[Offered]:
        for offer in Offer.objects.filter(region__slug=self.ref.slug):
            yield Offered(offer.slug, offer.storage_class, offer.is_dataset)

    def _credential_end(self) -> datetime | None:
        access = read_kubeconfig(secrets.get(f"region:{self.ref.slug}", KUBECONFIG).decode())
        return certificate_end(access.certificate) if access.certificate else token_end(access.token)
