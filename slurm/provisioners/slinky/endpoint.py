"""Where the login node is reached, and the host key that it must show. `endpoint_of` is pure.

The operator makes host keys once and keeps them in a Secret; a login node that shows another is not ours.
"""

from base64 import b64decode
from collections.abc import Iterator, Mapping

from clusters.provisioner import Executor, LoginEndpoint
from console.errors import Unavailable
from slurm.executors.pod import PodExecutor
from slurm.kube.kinds import NODE, POD, SECRET, SERVICE, Thing
from slurm.provisioners.slinky.names import CLUSTER_LABEL
from slurm.provisioners.slinky.pods import (
    COMPONENT,
    CONTAINERS,
    SLURM_NAME,
    WORKER,
    is_ready,
    labels,
    machine_of,
    name_of,
)
from slurm.provisioners.slinky.region import LoginBy
from slurm.provisioners.slinky.site import Site

USER = "root"
SSH_PORT = 22
HOST_KEYS = ("ssh_host_ed25519_key.pub", "ssh_host_ecdsa_key.pub", "ssh_host_rsa_key.pub")
ADDRESSES = ("ExternalIP", "InternalIP")


def login_endpoint(site: Site) -> LoginEndpoint:
    """Three or four requests. Raises Unavailable while no login node is up."""
    pod = _ready_pod(site)
    host_key = _host_key(site.kube.find(SECRET, site.names.host_keys, site.names.namespace))
    service = site.kube.find(SERVICE, site.names.login, site.names.namespace)
    machine = site.kube.find(NODE, machine_of(pod)) if site.settings.login_by is LoginBy.NODE_PORT else None
    address = address_of(service, machine)
    if address:
        return LoginEndpoint(address[0], address[1], USER, host_key)
    return LoginEndpoint(site.names.login, SSH_PORT, USER, host_key, tunnel_to(site, name_of(pod)))


def login_executor(site: Site) -> Executor:
    """Commands on the login node. One request. Raises Unavailable while none is up."""
    return PodExecutor(site.kube, site.names.namespace, name_of(_ready_pod(site)), CONTAINERS["login"])


def worker_executor(site: Site, node: str) -> Executor:
    """Commands on a worker, by its Slurm name. One request. Raises Unavailable while its pod is not ready."""
    mine = f"{CLUSTER_LABEL}={site.names.key},{COMPONENT}={WORKER}"
    pods = site.kube.list(POD, site.names.namespace, labels=mine).items
    pod = next((pod for pod in pods if labels(pod).get(SLURM_NAME) == node and is_ready(pod)), None)
    if pod is None:
        raise Unavailable(f"{node} is not up.", "See the cluster's parts.")
    return PodExecutor(site.kube, site.names.namespace, name_of(pod), CONTAINERS["worker"])


def _ready_pod(site: Site) -> Thing:
    mine = f"{CLUSTER_LABEL}={site.names.key},{COMPONENT}=login"
    pods = site.kube.list(POD, site.names.namespace, labels=mine).items
    pod = next((pod for pod in pods if is_ready(pod)), None)
    if pod is None:
        raise Unavailable(f"The login node of {site.ref.name} is not up.", "See the cluster's parts.")
    return pod


def tunnel_to(site: Site, pod: str) -> Mapping[str, str]:
    """What `tunnel.open_tunnel` needs."""
    return {
        "kind": "kube",
        "region": site.ref.region_slug,
        "namespace": site.names.namespace,
        "pod": pod,
        "port": str(SSH_PORT),
    }


def address_of(service: Thing | None, machine: Thing | None) -> tuple[str, int] | None:
    """From outside of the cluster; None where only the API's port-forward leads there."""
    spec = (service or {}).get("spec") or {}
    ports = (spec.get("ports") or [{}])[0]
    if spec.get("type") == "LoadBalancer":
        host = next(_ingress(service or {}), "")
        return (host, int(ports.get("port", SSH_PORT))) if host else None
    if spec.get("type") == "NodePort" and machine is not None and ports.get("nodePort"):
        host = next(_addresses(machine), "")
        return (host, int(ports["nodePort"])) if host else None
    return None


def _ingress(service: Thing) -> Iterator[str]:
    for entry in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []:
        yield str(entry.get("ip") or entry.get("hostname") or "")


def _addresses(machine: Thing) -> Iterator[str]:
    found = (machine.get("status") or {}).get("addresses") or []
    for kind in ADDRESSES:
        yield from (str(one["address"]) for one in found if one.get("type") == kind)


def _host_key(secret: Thing | None) -> str:
    data = (secret or {}).get("data") or {}
    encoded = next((data[name] for name in HOST_KEYS if data.get(name)), None)
    if encoded is None:
        raise Unavailable(
            "The operator has not made the login node's host keys yet.", "It does so by itself."
        )
    # `type key comment`: the comment names the pod that made it.
    return " ".join(b64decode(encoded).decode().split()[:2])
