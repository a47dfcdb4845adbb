"""The account of the pod that the console itself runs in."""

import os
from pathlib import Path

from console.errors import Unavailable
from slurm.kube.access import Access

# https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster(account: Path = ACCOUNT) -> Access:
    """Reads the authorities and the namespace; the token is read for each request, because kubelets renew it.

    Raises Unavailable outside of a cluster.
    """
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        ca, namespace = ((account / name).read_text(encoding="ascii") for name in ("ca.crt", "namespace"))
    except OSError as error:
        raise _outside(str(error.strerror)) from error
    if not host:
        raise _outside("KUBERNETES_SERVICE_HOST is not set")
    address = f"[{host}]" if ":" in host else host
    return Access(
        f"https://{address}:{port}", ca, token_file=str(account / "token"), namespace=namespace.strip()
    )


def _outside(why: str) -> Unavailable:
    return Unavailable(
        f"The console does not run in a pod with a service account ({why}).",
        "Give the region a kubeconfig, or run the console in the cluster with automountServiceAccountToken.",
    )
