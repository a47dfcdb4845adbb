"""Slurm as the operator sees it: its nodes, and what it does to them.

The real operator asks slurmrestd. The double asks the same of `scontrol` and `squeue` in the room; whether slurmrestd
would have answered is decided by `operator`. Without daemons there is `PaperSlurm`, where every ready pod is an idle
node.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from console.errors import Unavailable
from slurm.provisioners.sandbox.space import run_inside
from tests.kube.double.room import Room

BUSY = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
OWN_REASON = "slurm-operator: "
# Slurm gives a job without a limit a year.
NO_LIMIT = timedelta(days=365)


@dataclass(frozen=True)
class SlurmNode:
    """`states` in Slurm's own words, without the marks for nodes that do not answer and the like."""

    name: str
    states: frozenset[str]
    reason: str = ""
    comment: str = ""

    @property
    def is_busy(self) -> bool:
        return bool(self.states & BUSY)

    @property
    def is_drained(self) -> bool:
        """As v1.2.1 has it: DRAIN, not UNDRAIN, and not busy."""
        return "DRAIN" in self.states and "UNDRAIN" not in self.states and not self.is_busy

    @property
    def is_external(self) -> bool:
        """Somebody else gave the reason: it is left alone, neither overwritten nor undrained."""
        return bool(self.reason) and not self.reason.startswith(OWN_REASON)


class SlurmSide(Protocol):
    """All calls raise `Unavailable`."""

    def nodes(self) -> dict[str, SlurmNode]: ...

    def ends(self) -> dict[str, datetime]:
        """When the last job of each node that has jobs is to end."""
        ...

    def drain(self, host: str, reason: str) -> None: ...

    def undrain(self, host: str) -> None: ...

    def comment(self, host: str, text: str) -> None: ...


class RoomSlurm:
    """For one look: nodes are asked for once, and again when it has changed one of them."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._nodes: dict[str, SlurmNode] | None = None

    def nodes(self) -> dict[str, SlurmNode]:
        if not self.room.answers:
            raise Unavailable("slurmctld does not answer.")
        if self._nodes is None:
            text = self.room.run("scontrol", "-a", "-o", "show", "nodes")
            found = (node_of(line) for line in text.splitlines() if line.startswith("NodeName="))
            self._nodes = {node.name: node for node in found}
        return self._nodes

    def ends(self) -> dict[str, datetime]:
        text = self.room.run("squeue", "-h", "-a", "-t", "R,CG,S", "-o", "%N %e")
        latest: dict[str, datetime] = {}
        for line in text.splitlines():
            nodes, _, end = line.rpartition(" ")
            for host in self.room.run("scontrol", "show", "hostnames", nodes).split():
                latest[host] = max(_moment(end), latest.get(host, datetime.min.replace(tzinfo=UTC)))
        return latest

    def drain(self, host: str, reason: str) -> None:
        self._nodes = None
        self.room.run("scontrol", "update", f"nodename={host}", "state=drain", f"reason={reason}")

    def undrain(self, host: str) -> None:
        self._nodes = None
        self.room.run("scontrol", "update", f"nodename={host}", "state=undrain")

    def comment(self, host: str, text: str) -> None:
        # Only a note for people; a node that is just being deleted refuses it.
        run_inside(self.room.home, ["scontrol", "update", f"nodename={host}", f"comment={text}"], 4.0)


def node_of(line: str) -> SlurmNode:
    """One record of `scontrol -o show nodes`; the reason is free text with who and when behind it."""
    states = re.search(r" State=(\S+)", line)
    reason = re.search(r" Reason=(.*?)(?: \[[^\]]*@[^\]]*\])?(?= Comment=| Extra=|\s*$)", line)
    comment = re.search(r" Comment=(.*?)\s*(?: Extra=|$)", line)
    words = re.sub(r"[^A-Z_+]", "", states[1]) if states else ""
    name = line.split(" ", 1)[0].removeprefix("NodeName=")
    return SlurmNode(
        name,
        frozenset(words.split("+")),
        reason[1].strip() if reason else "",
        comment[1] if comment else "",
    )


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return datetime.now(UTC) + NO_LIMIT


class PaperSlurm:
    """Nodes without daemons; `hosts` are those whose pods are ready. Records of nodes that went stay, as in Slurm."""

    def __init__(self, hosts: Callable[[], Iterable[str]]) -> None:
        self._hosts = hosts
        self._known: dict[str, SlurmNode] = {}

    def nodes(self) -> dict[str, SlurmNode]:
        for host in self._hosts():
            self._known.setdefault(host, SlurmNode(host, frozenset({"IDLE", "DYNAMIC_NORM"})))
        return dict(self._known)

    def ends(self) -> dict[str, datetime]:
        return {}

    def drain(self, host: str, reason: str) -> None:
        node = self._known[host]
        self._known[host] = replace(node, states=node.states | {"DRAIN"}, reason=reason)

    def undrain(self, host: str) -> None:
        node = self._known[host]
        self._known[host] = replace(node, states=node.states - {"DRAIN"}, reason="")

    def comment(self, host: str, text: str) -> None:
        self._known[host] = replace(self._known[host], comment=text)
