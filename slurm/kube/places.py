"""Where in an API something is: its path, and how a request for it is called. Pure."""

import re
from dataclasses import dataclass

from console.errors import Rejected
from slurm.kube.errors import Asked
from slurm.kube.kinds import Kind, Thing, kind_of

# What names may consist of, over all kinds (RBAC's may hold colons); never a slash or two dots, which change a path.
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_:]|\.(?!\.))*")


@dataclass(frozen=True)
class Place:
    """All of a kind, or one object of it, or a part of that (`status`, `exec`)."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    part: str = ""

    @property
    def path(self) -> str:
        """Raises Rejected for a name that is none."""
        for name in (self.namespace, self.name):
            if name and not _NAME.fullmatch(name):
                raise Rejected(f"“{name[:80]}” is no name of a Kubernetes object.")
        return self.kind.path(self.namespace, self.name, self.part)

    def asked(self, verb: str, what: str = "") -> Asked:
        """`what` replaces "<verb> <kind> <name>" in sentences."""
        return Asked(
            verb,
            f"{self.kind.plural}/{self.part}" if self.part else self.kind.plural,
            self.kind.group,
            self.namespace if self.kind.namespaced else "",
            what or f"{verb} {f'{self.kind.name} {self.name}' if self.name else self.kind.plural}",
        )


def place_of(thing: Thing) -> Place:
    """Where an object that we write belongs."""
    metadata = thing["metadata"]
    return Place(kind_of(thing), metadata.get("namespace", ""), metadata["name"])
