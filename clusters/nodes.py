"""Nodes as people speak of them: two names, and a state composed as Slurm composes it.

Pure. The composition follows `node_state_string` in Slurm's src/common/slurm_protocol_defs.c (22.05 to 26.05): a base
state and flags such as DRAIN or NOT_RESPONDING become one word with an optional suffix.
"""

from dataclasses import dataclass
from enum import StrEnum

BUSY_BASES = frozenset({"ALLOCATED", "MIXED"})
# The order matters: Slurm shows the first of these suffixes that applies.
SUFFIXES = (
    ("NOT_RESPONDING", "*"),
    ("POWERED_DOWN", "~"),
    ("POWERING_UP", "#"),
    ("POWERING_DOWN", "%"),
    ("POWER_DOWN", "!"),
    ("REBOOT_ISSUED", "^"),
    ("REBOOT_REQUESTED", "@"),
    ("PLANNED", "-"),
)


class Health(StrEnum):
    """How a node is drawn: a word, a shape and a colour belong to each."""

    OK = "ok"
    BUSY = "busy"
    DRAINING = "draining"
    DOWN = "down"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class NodeName:
    """A node's two names. Equality of rows and URLs go by `.slurm`; `.machine` is what support asks for."""

    slurm: str
    machine: str = ""

    def __str__(self) -> str:
        return f"{self.machine} ({self.slurm})" if self.machine else self.slurm


@dataclass(frozen=True)
class NodeState:
    """Slurm's state of a node: a base (`IDLE`) and flags (`DRAIN`, `NOT_RESPONDING`, ...)."""

    base: str
    flags: frozenset[str] = frozenset()

    @property
    def word(self) -> str:
        """What sinfo prints, long form and lower case: `drained`, `draining`, `mixed`, `idle*`, `down*`."""
        return self._core() + next((mark for flag, mark in SUFFIXES if flag in self.flags), "")

    def _core(self) -> str:
        busy = self.base in BUSY_BASES or "COMPLETING" in self.flags
        if "DRAIN" in self.flags:
            return "draining" if busy else "drained"
        if "FAIL" in self.flags:
            return "failing" if busy else "fail"
        if "INVALID_REG" in self.flags:
            return "inval"
        if "REBOOT_ISSUED" in self.flags:
            return "reboot"
        if "MAINTENANCE" in self.flags and self.base == "IDLE":
            return "maint"
        if "RESERVED" in self.flags and self.base == "IDLE":
            return "reserved"
        if "COMPLETING" in self.flags and self.base != "DOWN":
            return "completing"
        return self.base.lower()

    @property
    def health(self) -> Health:
        core = self._core()
        if self.base in {"UNKNOWN", "FUTURE"}:
            return Health.UNKNOWN
        if self.base in {"DOWN", "ERROR"} or "NOT_RESPONDING" in self.flags or core in {"inval", "fail"}:
            return Health.DOWN
        if core in {"draining", "drained", "failing", "reboot", "maint"}:
            return Health.DRAINING
        return Health.BUSY if core in {"allocated", "mixed", "completing"} else Health.OK

    @property
    def takes_jobs(self) -> bool:
        """Whether the scheduler may start a new job here now."""
        return self.health in {Health.OK, Health.BUSY}


def parse_state(text: str) -> NodeState:
    """`IDLE+DRAIN` or `DOWN*+NOT_RESPONDING` as `scontrol -o show nodes` prints it; never raises."""
    base, *flags = text.strip().split("+")
    marks = {flag for flag, mark in SUFFIXES if base.endswith(mark)}
    return NodeState(
        base.rstrip("*~#%!^@-$+").upper() or "UNKNOWN", frozenset({f.upper() for f in flags} | marks)
    )
