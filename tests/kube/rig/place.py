"""Where a rig keeps its things, and the ports it listens on."""

import json
import random
import socket
from dataclasses import dataclass
from pathlib import Path

from tests.kube.rig.pki import LOOPBACK as HOST

# Below the range from which Linux takes ports for outgoing connections: a client that calls a stopped server's port
# again and again would at last be given that very port and talk to itself.
PORTS = range(15000, 32000)


@dataclass(frozen=True)
class Ports:
    """All on loopback. The same ones for a rig's whole life: kubeconfigs stay true when the API comes back."""

    etcd: int
    etcd_peer: int
    api: int
    kubelet: int


@dataclass(frozen=True)
class Place:
    """One rig's directory. Only its owner may enter: keys lie here."""

    root: Path
    ports: Ports

    @classmethod
    def at(cls, root: Path) -> "Place":
        """Made, or as an earlier rig left it. Idempotent."""
        for name in ("pki", "log", "shims"):
            (root / name).mkdir(parents=True, exist_ok=True)
        root.chmod(0o700)
        noted = root / "ports.json"
        if not noted.exists():
            noted.write_text(json.dumps(Ports(*_free_ports(4)).__dict__))
        return cls(root, Ports(**json.loads(noted.read_text())))

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def shims(self) -> Path:
        """First in kwok's PATH: what `pods/exec` finds when a command is asked for by its name."""
        return self.root / "shims"

    @property
    def admin_kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def stages(self) -> Path:
        return self.root / "kwok.yaml"

    @property
    def api_url(self) -> str:
        return f"https://{HOST}:{self.ports.api}"

    @property
    def etcd_url(self) -> str:
        return f"http://{HOST}:{self.ports.etcd}"

    def log(self, part: str) -> Path:
        return self.root / "log" / f"{part}.log"


def _free_ports(count: int) -> list[int]:
    """Different ones that nobody listens on now."""
    found: list[int] = []
    while len(found) < count:
        port = random.choice(PORTS)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
