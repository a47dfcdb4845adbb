"""What sacctmgr says no with, as ConsoleErrors at the fields of its forms. The only place that reads its sentences.

Pure. It speaks on both outputs and ends with 1 for a refusal as for nothing to do (texts of src/sacctmgr, 24.11 and
26.05). Called by `slurm.accounts.accounting`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from console.errors import Conflict, ConsoleError, Problem, Rejected, Unavailable
from slurm.accounts.limits import ASSOCIATION_LIMITS, QOS_LIMITS
from slurm.complaints import ACCOUNTING_OUTAGES, own_words

# Option of sacctmgr, in lower case, and the form's field.
FIELDS: Mapping[str, str] = {
    "fairshare": "shares",
    "qos": "qos",
    "defaultqos": "default_qos",
    "parent": "parent",
    "description": "description",
    "organization": "organization",
    "account": "account",
    "defaultaccount": "account",
    "partition": "partition",
    "priority": "priority",
    "gracetime": "grace_s",
    "preempt": "preempt",
    "preemptmode": "preempt_mode",
    "flags": "flags",
    "usagefactor": "usage_factor",
    **{limit.word.lower(): limit.field for limit in (*ASSOCIATION_LIMITS, *QOS_LIMITS)},
}


@dataclass(frozen=True)
class Refusal:
    """`pattern` is looked for in what sacctmgr said; `says` may hold its groups. `path` is the field, if any."""

    pattern: re.Pattern[str]
    says: str
    path: str = ""


def _refusal(pattern: str, says: str, path: str = "") -> Refusal:
    return Refusal(re.compile(pattern), says, path)


OUTAGES = (*ACCOUNTING_OUTAGES, "Connection refused", "Unable to contact slurm")
REFUSALS = (
    _refusal(r"no TRES known by type (\S{1,80})", "This cluster does not count {0}."),
    _refusal(r"bad qos '([^']{0,80})'", "There is no QOS {0}.", "qos"),
    _refusal(r"bad default qos '([^']{0,80})'", "The default QOS {0} may not be used here.", "default_qos"),
    _refusal(r"No parent account '([^']{0,80})'", "There is no account {0}.", "parent"),
    _refusal(r"No account (\S{1,80}) on cluster", "There is no account {0}.", "account"),
    _refusal(r"Invalid value for FairShare", "Shares are a whole number, or the parent's.", "shares"),
    _refusal(r"Invalid value for (\w{1,40})", "{0} takes a whole number."),
    _refusal(r"Bad (\w{1,40}) time format", "{0} takes a time such as 1-00:00:00."),
    _refusal(r"Unknown QOS flag", "This version of Slurm does not know one of the flags.", "flags"),
    _refusal(r"Invalid unit type", "This is no amount of a resource."),
    _refusal(r"can not remove the default account of a user", "It is people's default account."),
    _refusal(r"[Uu]sers? .{0,40}jobs running|Job\(s\) active", "Jobs of it are in the queue."),
    _refusal(r"problem with option .{0,80} with quotes", "The file has a line with half a quotation.", "file"),
    _refusal(r"specify a cluster name first", "This version of Slurm takes no QOS in the file.", "file"),
    _refusal(r"doesn't have privilege|Access/permission denied", "Slurm does not let the console do this."),
)  # fmt: skip
_OPTION = re.compile(r"(?:Unknown option: |format: )([A-Za-z]{1,40})=")
_NOTHING = re.compile(
    r"Nothing (?:new )?(?:added|modified|deleted)|didn't affect anything|give me anything to set"
)


def refusal_of(said: str, doing: str) -> ConsoleError:
    """The error for what sacctmgr said while `doing` (`add the account x`). Never raises, never empty."""
    for outage in OUTAGES:
        if outage in said:
            return Unavailable(
                f"Could not {doing}: the accounting database does not answer.",
                "See the cluster's parts: accounting may be starting or down.",
            )
    for known in REFUSALS:
        if match := known.pattern.search(said):
            sentence = known.says.format(*(_printable(group) for group in match.groups()))
            path = known.path or _field(said)
            return Rejected(f"Could not {doing}. {sentence}", (Problem(path, sentence),) if path else ())
    if _NOTHING.search(said):
        return Conflict(
            f"Could not {doing}: sacctmgr found nothing to do.",
            "Somebody else may have done it meanwhile; the page shows what there is now.",
        )
    path, words = _field(said), own_words(said)
    problems = (Problem(path, f"Slurm does not take this: {words}"),) if path else ()
    return Rejected(f"Could not {doing}. Slurm says: {words or 'nothing'}", problems)


def _field(said: str) -> str:
    """The field of the option that sacctmgr could not read."""
    found = _OPTION.search(said) or re.search(r"Bad (\w+) time|Invalid value for (\w+)", said)
    option = next((group for group in found.groups() if group), "") if found else ""
    return FIELDS.get(option.lower(), "")


def _printable(text: str | None) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text or "")
