"""What a rig is built from: three pinned Go modules, as their dependencies disagree; and one that the tests of the
console's manifests want beside it. Standard library only.
"""

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
LINKER = "-s -w"


@dataclass(frozen=True)
class Module:
    """One go.mod below `modules/`, the Go module that it pins, and the packages that become programs."""

    name: str
    pinned: str
    packages: Mapping[str, str]
    version_variable: str = ""

    @property
    def directory(self) -> Path:
        return HERE / "modules" / self.name

    @property
    def version(self) -> str:
        """Of `pinned`, as go.mod says it: v1.37.2."""
        found = re.search(
            rf"^\s*{re.escape(self.pinned)} (v\S+)", self._file("go.mod").decode(), re.MULTILINE
        )
        assert found, f"{self.directory}/go.mod does not name {self.pinned}"
        return found[1]

    @property
    def ldflags(self) -> str:
        """Without symbols; with the version where the program cannot know it by itself."""
        return f"{LINKER} -X {self.version_variable}={self.version}" if self.version_variable else LINKER

    def content(self) -> bytes:
        return self._file("go.mod") + self._file("go.sum") + self.ldflags.encode()

    def _file(self, name: str) -> bytes:
        return (self.directory / name).read_bytes()


ETCD = Module("etcd", "go.etcd.io/etcd/server/v3", {"etcd": "go.etcd.io/etcd/server/v3"})
KWOK = Module("kwok", "sigs.k8s.io/kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"})
KUBERNETES = Module(
    "kubernetes",
    "k8s.io/kubernetes",
    {
        name: f"k8s.io/kubernetes/cmd/{name}"
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    },
    "k8s.io/component-base/version.gitVersion",
)
MODULES = (ETCD, KWOK, KUBERNETES)  # the quick ones first: what fails, fails soon
KUSTOMIZE = Module(
    "kustomize", "sigs.k8s.io/kustomize/kustomize/v5", {"kustomize": "sigs.k8s.io/kustomize/kustomize/v5"}
)

# Taken out of kwok's own module: what its nodes and pods do, and the kinds of objects that it reads.
STAGES = (
    *("node/fast/node-initialize", "node/heartbeat-with-lease/node-heartbeat-with-lease"),
    *("pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete"),
)
KINDS = ("execs", "clusterexecs", "portforwards", "clusterportforwards", "logs", "clusterlogs")


def key(programs: Sequence[str]) -> str:
    """Names what a build of these programs holds: another pin, flag or machine makes another name."""
    total = hashlib.sha256(platform.machine().encode())
    for part in (
        *(module.content() for module in MODULES),
        *(text.encode() for text in (*programs, *STAGES, *KINDS)),
    ):
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:24]


def key_of(module: Module) -> str:
    """Names what a build of one module alone holds."""
    return hashlib.sha256(platform.machine().encode() + module.content()).hexdigest()[:24]


def title() -> str:
    return f"etcd {ETCD.version}, Kubernetes {KUBERNETES.version}, kwok {KWOK.version}"
