"""The command lines of a rig's programs. Pure."""

from collections.abc import Mapping
from pathlib import Path

from tests.kube.rig.place import HOST, Place

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
SERVICES = "10.96.0.0/16"
KWOK_NODE = ("kwok.x-k8s.io/node", "fake")
# Longer than any outage that the tests make: nodes must not be given up because the API was away.
NODE_GRACE_S = 300
KWOK_KINDS = "Exec,ClusterExec,PortForward,ClusterPortForward,Logs,ClusterLogs"
# Controllers that nobody here needs, each with caches of its own.
IDLE_CONTROLLERS = (
    *("bootstrap-signer-controller", "token-cleaner-controller", "horizontal-pod-autoscaler-controller"),
    *("certificatesigningrequest-approving-controller", "certificatesigningrequest-cleaner-controller"),
    *("certificatesigningrequest-signing-controller", "cronjob-controller", "node-ipam-controller"),
    *("persistentvolume-attach-detach-controller", "persistentvolume-expander-controller"),
)


def command(part: str, binary: Path, place: Place) -> list[str]:
    """The whole command line of one of PROGRAMS."""
    return [str(binary), *(f"--{name}={value}" for name, value in _FLAGS[part](place).items())]


def _etcd(place: Place) -> Mapping[str, object]:
    peer = f"http://{HOST}:{place.ports.etcd_peer}"
    return {
        "data-dir": place.root / "etcd",
        "listen-client-urls": place.etcd_url,
        "advertise-client-urls": place.etcd_url,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }


def _api(place: Place) -> Mapping[str, object]:
    pki = place.pki
    return {
        "etcd-servers": place.etcd_url,
        "bind-address": HOST,
        "advertise-address": HOST,
        "secure-port": place.ports.api,
        "tls-cert-file": pki / "api.crt",
        "tls-private-key-file": pki / "api.key",
        "client-ca-file": pki / "ca.crt",
        "service-account-key-file": pki / "accounts.pub",
        "service-account-signing-key-file": pki / "accounts.key",
        "service-account-issuer": "https://kubernetes.default.svc",
        "authorization-mode": "Node,RBAC",
        "service-cluster-ip-range": SERVICES,
        "allow-privileged": "true",
        # How it reaches the kubelets, which are all kwok.
        "kubelet-client-certificate": pki / "kubelet-client.crt",
        "kubelet-client-key": pki / "kubelet-client.key",
        "kubelet-certificate-authority": pki / "ca.crt",
        "kubelet-preferred-address-types": "InternalIP",
        "endpoint-reconciler-type": "none",
        "profiling": "false",
        # Ends with its clients' watches still open, and at once: tests stop it on purpose.
        "shutdown-delay-duration": "0s",
    }


def _controllers(place: Place) -> Mapping[str, object]:
    return {
        "kubeconfig": place.admin_kubeconfig,
        "service-account-private-key-file": place.pki / "accounts.key",
        "root-ca-file": place.pki / "ca.crt",
        "leader-elect": "false",
        "bind-address": HOST,
        "secure-port": 0,
        "node-monitor-grace-period": f"{NODE_GRACE_S}s",
        "controllers": ",".join(["*", *(f"-{name}" for name in IDLE_CONTROLLERS)]),
        "kube-api-qps": 200,
        "kube-api-burst": 400,
        "profiling": "false",
    }


def _scheduler(place: Place) -> Mapping[str, object]:
    return {
        "kubeconfig": place.admin_kubeconfig,
        "leader-elect": "false",
        "bind-address": HOST,
        "secure-port": 0,
        "kube-api-qps": 200,
        "kube-api-burst": 400,
        "profiling": "false",
    }


def _kwok(place: Place) -> Mapping[str, object]:
    return {
        "kubeconfig": place.admin_kubeconfig,
        "config": place.stages,
        "manage-all-nodes": "false",
        "manage-nodes-with-annotation-selector": "=".join(KWOK_NODE),
        "node-ip": HOST,
        "node-port": place.ports.kubelet,
        "server-address": f"{HOST}:{place.ports.kubelet}",
        "tls-cert-file": place.pki / "kubelet.crt",
        "tls-private-key-file": place.pki / "kubelet.key",
        # Without leases the nodes would be NotReady in the end.
        "node-lease-duration-seconds": 40,
        "enable-crds": KWOK_KINDS,
    }


_FLAGS = {
    "etcd": _etcd,
    "kube-apiserver": _api,
    "kube-controller-manager": _controllers,
    "kube-scheduler": _scheduler,
    "kwok": _kwok,
}
