"""What stands around the pages of a cluster's accounting: its parts, what is enforced, what did not answer."""

from dataclasses import dataclass

from clusters.access import Door
from clusters.lifecycle import Status, Step, refusal
from clusters.views.frame import why_not
from console.errors import ConsoleError
from console.roles import Action, least_role
from slurm.accounts.accounting import NO_ACCOUNTING, Ledger, ledger_of

PARTS = (
    ("My usage", "accounting", Action.VIEW),
    ("Accounts", "accounts", Action.VIEW_ACCOUNTS),
    ("Users", "account-users", Action.VIEW_ACCOUNTS),
    ("QOS", "qos", Action.VIEW_ACCOUNTS),
    ("Dump and restore", "account-dump", Action.VIEW_ACCOUNTS),
)


@dataclass(frozen=True)
class Part:
    """`why_not` is a sentence where the person may not look; then there is no link."""

    label: str
    name: str
    why_not: str


def about(door: Door, at: str) -> dict[str, object]:
    """The context of every page here. Asks the cluster: blocks for two exchanges, and raises nothing."""
    ledger, silence = _ledger(door)
    return {
        "door": door,
        "cluster": door.cluster,
        "tab": "accounting",
        "at": at,
        "parts": _parts(door),
        "ledger": ledger,
        "book": ledger.book if ledger else None,
        "enforcement": ledger.enforcement if ledger else None,
        "silence": silence,
        "no_accounting": NO_ACCOUNTING if ledger and ledger.book is None else "",
        "change_why_not": why_not(door, Action.CHANGE_ACCOUNTS, Step.OPERATE),
        "enforce_why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
    }


def _ledger(door: Door) -> tuple[Ledger | None, str]:
    """The ledger, or a sentence saying why there is none now."""
    if why := refusal(Status(door.cluster.status), Step.OPERATE):
        return None, why
    try:
        return ledger_of(door.cluster), ""
    except ConsoleError as error:
        return None, f"{error.message} {error.hint}".strip()


def _parts(door: Door) -> list[Part]:
    parts = []
    for label, name, action in PARTS:
        need = least_role(action).value
        why = "" if door.may(action) else f"Needs the role {need}; you are {door.membership.role}."
        parts.append(Part(label, name, why))
    return parts
