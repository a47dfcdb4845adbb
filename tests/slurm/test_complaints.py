"""Slurm's complaints as errors that a person can act on. Texts are as recorded from 22.05, 24.11 and
26.05."""

import pytest

from console.errors import Conflict, Missing, Rejected, Unavailable
from slurm.complaints import complaint


@pytest.mark.parametrize(
    ("stderr", "error", "says"),
    [
        ("scancel: error: Kill job error on job id 999: Invalid job id specified", Missing, "no such job"),
        ("slurm_load_jobs error: Invalid job id specified", Missing, "no such job"),
        ("slurm_update error: Invalid node name specified", Missing, "no such node"),
        ("Job is pending execution for job 5", Conflict, "has not started"),
        (
            "scancel: error: Kill job error on job id 2: Job/step already completing or completed",
            Conflict,
            "ended",
        ),
        ("slurm_update error: Invalid node state specified", Conflict, "state does not allow"),
        (
            "sbatch: error: Batch job submission failed: Requested node configuration is not available",
            Rejected,
            "can ever give",
        ),
        (
            "sbatch: error: Batch job submission failed: Invalid partition name specified",
            Rejected,
            "no such partition",
        ),
        ("sbatch: error: Batch script is empty!", Rejected, "empty"),
        (
            "You must specify a reason when DOWNING or DRAINING a node. Request denied",
            Rejected,
            "needs a reason",
        ),
        (
            "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
            Unavailable,
            "does not answer",
        ),
        ("slurm_load_jobs error: Socket timed out on send/recv operation", Unavailable, "too slow"),
        ("slurm_update error: Access/permission denied", Rejected, "does not allow"),
    ],
)
def test_known_complaints(stderr, error, says):
    found = complaint(stderr, "do it")
    assert type(found) is error
    assert found.message.startswith("Could not do it. ") and says in found.message


def test_unknown_complaints_are_quoted_without_control_characters():
    found = complaint("scontrol: error: odd \x1b[31mthing\n", "drain slinky-0")
    assert isinstance(found, Rejected)
    assert found.message == "Could not drain slinky-0. Slurm says: odd \ufffd[31mthing"
    assert "nothing" in complaint("", "drain").message
