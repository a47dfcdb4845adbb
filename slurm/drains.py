"""Why a node is out of service and by whom, told from the reason that Slurm keeps with it. Pure.

The console's own reasons begin with `quarterdeck:` and are its memory: what it has begun with a node goes on from
them, and resuming the node calls it off. A person's reason carries the name (`slurm.operations`), those of Slinky's
operator begin with `slurm-operator:` (slurm-operator 1.2).
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from console.words import signed_reason

CONSOLE = "quarterdeck:"
OPERATOR = "slurm-operator:"
LEAVES = f"{CONSOLE} leaves the cluster when its jobs have ended"
RESTARTS = f"{CONSOLE} restarts when its jobs have ended"
RESTARTING = f"{CONSOLE} restarts now"
# What slurmctld and slurmd write themselves (slurmctld's node_mgr.c, ping_nodes.c, job_mgr.c; slurmd's req.c).
OF_SLURM = (
    "not responding",
    "kill task failed",
    "batch job complete failure",
    "prolog error",
    "epilog error",
    "low realmemory",
    "low tmpdisk",
    "low cpus",
    "low socket",
    "low cores",
    "low sockets",
    "gres/",
    "node unexpectedly rebooted",
    "reboot ",
    "resumetimeout reached",
    "duplicate jobid",
    "invalid registration",
    "node configuration differs",
    "step daemon",
    "cert",
)
# What some of these mean, for who does not know them.
MEANINGS = {
    "prolog error": "Prolog error: the cluster's worker prolog failed here",
    "epilog error": "Epilog error: the cluster's worker epilog failed here",
}
MACHINE_ACCOUNTS = frozenset({"root", "slurm", ""})


class Owner(StrEnum):
    """Who keeps the node out."""

    CONSOLE = "the console"
    OPERATOR = "the operator"
    PERSON = "person"
    SLURM = "Slurm itself"
    OUTSIDE = "outside"


@dataclass(frozen=True)
class Drain:
    """`who` is a person's or an account's name, and `why` the reason without what tells its owner."""

    owner: Owner
    who: str
    why: str

    @property
    def by(self) -> str:
        """`by ben`, `by the operator`, `by Slurm itself`, `by root, outside the console`."""
        if self.owner is Owner.OUTSIDE:
            return f"by {self.who}, outside the console"
        return f"by {self.who or self.owner.value}"


@lru_cache(maxsize=4096)
def drain_owner(reason: str, reason_by: str) -> Drain:
    """Read a node's reason and the account that Slurm says gave it."""
    text, signer = signed_reason(reason, "")
    for prefix, owner in ((OPERATOR, Owner.OPERATOR), (CONSOLE, Owner.CONSOLE)):
        if reason.startswith(prefix):
            return Drain(owner, "", _sentence(reason.removeprefix(prefix)))
    if signer:
        return Drain(Owner.PERSON, signer, text)
    if reason_by in MACHINE_ACCOUNTS and (reason_by == "slurm" or text.lower().startswith(OF_SLURM)):
        return Drain(Owner.SLURM, "", MEANINGS.get(text.lower(), text))
    return Drain(Owner.OUTSIDE if reason_by else Owner.SLURM, reason_by, text)


def _sentence(text: str) -> str:
    """The operator names the pod in every reason and says at the end what it does."""
    if "scale-in" in text:
        return "Scale-in: goes when its jobs have ended"
    text = text.strip()
    return text[:1].upper() + text[1:]
