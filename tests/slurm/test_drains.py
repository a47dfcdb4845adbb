"""Who keeps a node out of service, told from Slurm's reason and the account that gave it."""

import pytest

from slurm.drains import LEAVES, RESTARTS, Owner, drain_owner

SCALE_IN = "slurm-operator: Pod (research-lab/llama-3) is pending termination for scale-in"


@pytest.mark.parametrize(
    ("reason", "account", "owner", "by", "why"),
    [
        (SCALE_IN, "slurm", Owner.OPERATOR, "by the operator", "Scale-in: goes when its jobs have ended"),
        ("slurm-operator: node is cordoned", "slurm", Owner.OPERATOR, "by the operator", "Node is cordoned"),
        (LEAVES, "root", Owner.CONSOLE, "by the console", "Leaves the cluster when its jobs have ended"),
        (RESTARTS, "slurm", Owner.CONSOLE, "by the console", "Restarts when its jobs have ended"),
        ("XID 79 on GPU 2 (by ben)", "root", Owner.PERSON, "by ben", "XID 79 on GPU 2"),
        ("XID 79 (by ada@example.org)", "slurm", Owner.PERSON, "by ada@example.org", "XID 79"),
        ("Not responding", "slurm", Owner.SLURM, "by Slurm itself", "Not responding"),
        ("Not responding", "root", Owner.SLURM, "by Slurm itself", "Not responding"),
        ("Kill task failed", "root", Owner.SLURM, "by Slurm itself", "Kill task failed"),
        (
            "gres/gpu count reported lower than configured (7 < 8)",
            "slurm",
            Owner.SLURM,
            "by Slurm itself",
            None,
        ),
        (
            "Low RealMemory (reported:1 < 100.00% of configured:2)",
            "slurm",
            Owner.SLURM,
            "by Slurm itself",
            None,
        ),
        ("bad fan", "root", Owner.OUTSIDE, "by root, outside the console", "bad fan"),
        ("bad fan", "mo", Owner.OUTSIDE, "by mo, outside the console", "bad fan"),
        ("Not responding", "mo", Owner.OUTSIDE, "by mo, outside the console", "Not responding"),
        ("bad fan", "", Owner.SLURM, "by Slurm itself", "bad fan"),
    ],
)
def test_every_owner_is_told_in_words(reason, account, owner, by, why):
    found = drain_owner(reason, account)
    assert (found.owner, found.by, found.why) == (owner, by, why or reason)
