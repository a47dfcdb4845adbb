"""The Kubernetes that `make kube` runs, as a region of the demo: registered when there is one, beside this machine.

Used by `manage.py demo` alone. Idempotent; a kubeconfig that is another one than before takes its place.
"""

from pathlib import Path

from clusters import regions
from clusters.models import Plan, Region
from console import secrets
from console.models import User
from slurm.provisioners.slinky.region import KUBECONFIG, LoginBy

SLUG = "kube"
# Its machines have no address of their own.
CONFIG = {"login_by": LoginBy.PORT_FORWARD.value}
PLANS = (
    {"slug": "h100-8", "name": "8 x H100", "gpu_model": "H100", "gpus": 8, "cpus": 32, "memory_mib": 256_000},
    {"slug": "cpu-32", "name": "32 CPUs", "gpus": 0, "cpus": 32, "memory_mib": 128_000},
)


def offer_region(kubeconfig: Path, *, by: User) -> None:
    """Nothing when the file is not there: it is while an API server answers."""
    try:
        text = kubeconfig.read_bytes()
    except FileNotFoundError:
        return
    found = Region.objects.filter(slug=SLUG).first()
    if found is None:
        _register(text, by)
    elif secrets.get(regions.secrets_owner(SLUG), KUBECONFIG) != text:
        regions.replace_credentials(found, {KUBECONFIG: text}, by=by)


def _register(text: bytes, by: User) -> None:
    sealed = {KUBECONFIG: text}
    made = regions.register("slinky", slug=SLUG, name="Kubernetes", config=CONFIG, sealed=sealed, by=by)
    for plan in PLANS:
        Plan.objects.create(region=made, **plan)
