"""What Slurm's commands complain about, as ConsoleErrors. The only place that reads Slurm's error texts.

Texts are those of src/common/slurm_errno.c and the clients, the same from 22.05 to 26.05. Called by
`slurm.client`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from console.errors import Conflict, ConsoleError, Missing, Rejected, Unavailable


@dataclass(frozen=True)
class Complaint:
    """`text` is looked for in what the command printed; `says` and `hint` are what a person reads."""

    text: str
    error: Callable[..., ConsoleError]
    says: str
    hint: str = ""


def _rejected(message: str, hint: str = "") -> Rejected:
    return Rejected(message, hint=hint)


# Of slurmdbd, and of the database behind it (sacctmgr, sacct; seen in 24.11 with either of them stopped).
ACCOUNTING_OUTAGES = (
    "Problem talking to the database",
    "Unable to contact slurm database",
    "Unable to connect to database",
    "slurmdbd not available",
    "DBD_SEND_MULT_MSG",
    "Sending PersistInit msg",
)
# The first that is found wins: outages before refusals, since an outage explains the rest.
_NO_DATABASE = "The accounting database does not answer"
_SEE_ACCOUNTING = "See the cluster's parts: accounting may be starting or down."
COMPLAINTS = (
    *(Complaint(text, Unavailable, _NO_DATABASE, _SEE_ACCOUNTING) for text in ACCOUNTING_OUTAGES),
    Complaint(
        "Unable to contact slurm controller",
        Unavailable,
        "The Slurm controller does not answer",
        "See the cluster's parts: the controller may be starting or down.",
    ),
    Complaint(
        "Socket timed out",
        Unavailable,
        "The Slurm controller is too slow to answer",
        "Try again in a moment.",
    ),
    Complaint(
        "Zero Bytes were transmitted", Unavailable, "The Slurm controller closed the connection", "Try again."
    ),
    Complaint(
        "Connection refused",
        Unavailable,
        "A Slurm service does not accept connections",
        "See the cluster's parts.",
    ),
    Complaint(
        "temporarily unable to accept job",
        Unavailable,
        "Slurm cannot take more jobs for now",
        "Try again when the queue is shorter.",
    ),
    Complaint(
        "Slurm accounting storage is disabled",
        Unavailable,
        "The cluster keeps no accounting",
        "Ended jobs are known only while the controller remembers them.",
    ),
    Complaint(
        "Unable to process configuration file",
        Unavailable,
        "Slurm's commands cannot read slurm.conf",
        "Apply a correct configuration, or reconfigure the cluster.",
    ),
    Complaint(
        "Protocol authentication error",
        Unavailable,
        "Slurm does not accept the console's credential",
        "Check that munge runs and that all parts share its key.",
    ),
    Complaint(
        "Munge encode failed",
        Unavailable,
        "Slurm's authentication service does not answer",
        "Check that munge runs.",
    ),
    Complaint(
        "Invalid job id", Missing, "There is no such job in the queue", "It may have ended a while ago."
    ),
    Complaint(
        "Invalid node name", Missing, "There is no such node", "The cluster may have been scaled down."
    ),
    Complaint(
        "already completing or completed", Conflict, "The job has ended already", "There is nothing to do."
    ),
    Complaint(
        "Job is pending execution", Conflict, "The job has not started yet", "Only started jobs requeue."
    ),
    Complaint("Invalid node state", Conflict, "The node's state does not allow this now"),
    Complaint(
        "Job can not be altered now", Conflict, "The job is between two states", "Try again in a moment."
    ),
    Complaint(
        "Requested operation is presently disabled",
        Conflict,
        "This job does not allow that",
        "It may have been submitted with --no-requeue.",
    ),
    Complaint(
        "Requested node configuration is not available",
        _rejected,
        "No node of the partition can ever give what the job asks for",
        "Compare GPUs, CPUs and memory per node with the largest node of the partition.",
    ),
    Complaint(
        "Invalid partition name", _rejected, "There is no such partition", "The cluster's page lists them."
    ),
    Complaint("Invalid qos", _rejected, "There is no such QOS, or this account may not use it"),
    Complaint(
        "Invalid account",
        _rejected,
        "Its account is none that its user is in, or may not use that partition",
        "My usage, in the Accounts tab, lists one's accounts.",
    ),
    Complaint("Invalid feature", _rejected, "No node has the feature that the job asks for"),
    Complaint(
        "Invalid generic resource",
        _rejected,
        "The GPUs or other resources are not named as the nodes have them",
    ),
    Complaint(
        "Invalid Trackable RESource", _rejected, "The resources asked for are not known to this cluster"
    ),
    Complaint(
        "Requested time limit is invalid", _rejected, "The time limit is missing or beyond the partition's"
    ),
    Complaint("Memory required by task", _rejected, "No node of the partition has so much memory"),
    Complaint(
        "Job violates accounting/QOS policy",
        _rejected,
        "A limit of the account or QOS does not allow this job",
        "Ask an operator which limit it is.",
    ),
    Complaint("Job dependency problem", _rejected, "The dependency names a job that is not there"),
    Complaint("Invalid dependency", _rejected, "The dependency names a job that is not there"),
    Complaint(
        "Invalid job array specification", _rejected, "The array's indices are wrong or beyond MaxArraySize"
    ),
    Complaint("Batch script is empty", _rejected, "The script is empty"),
    Complaint(
        "does not look like a batch script",
        _rejected,
        "The script must start with #! and an interpreter",
        "Begin it with #!/bin/bash.",
    ),
    Complaint(
        "contains DOS line breaks",
        _rejected,
        "The script has DOS line breaks",
        "Save it with Unix line ends.",
    ),
    Complaint(
        "Script is too long", _rejected, "The script is too long", "Slurm takes 4 MiB at most by default."
    ),
    Complaint("unrecognized option", _rejected, "sbatch does not know one of the script's options"),
    Complaint(
        "Invalid user id", _rejected, "This user is not known to the cluster", "Add the user to the cluster."
    ),
    Complaint("Access/permission denied", _rejected, "Slurm does not allow the console to do this"),
    Complaint("specify a reason", _rejected, "A drain needs a reason"),
)
_PREFIX = re.compile(r"^(?:\w+: )?(?:(?:error|fatal): )?(?:\w+ error: ?)?(?:Batch job submission failed: )?")


def complaint(stderr: str, doing: str) -> ConsoleError:
    """The error for what a command printed while `doing` (`cancel job 12`): never raises, never empty."""
    for known in COMPLAINTS:
        if known.text in stderr:
            said = f" Slurm says: {own_words(stderr)}" if known.error is _rejected else ""
            return known.error(f"Could not {doing}. {known.says}.{said}", known.hint)
    return Rejected(
        f"Could not {doing}. Slurm says: {own_words(stderr) or 'nothing'}",
        hint="If it goes on, look at the controller's log.",
    )


def own_words(stderr: str) -> str:
    """What the command said, on one line, without program names and without control characters."""
    lines = (_PREFIX.sub("", line, count=1).strip() for line in stderr.splitlines())
    text = "; ".join(dict.fromkeys(line for line in lines if line))
    return "".join(c if c.isprintable() else "\ufffd" for c in text)[:400]
