"""Workers that are restarted one by one, told from what Slurm and the pods say."""

import pytest

from slurm.drains import RESTARTING, RESTARTS
from slurm.provisioners.slinky.reboots import Next, reboots_in
from tests.slurm.slinky.standings import node
from tests.slurm.slinky.things import worker_pod

BEFORE, THEN, AFTER = "2026-11-30T11:00:00+00:00", "2026-11-30T12:00:00+00:00", "2026-11-30T12:00:05+00:00"
ENDED = "slurm-operator: Pod is terminating"


def step(reason, state="IDLE+DRAIN", busy=0, pod=None):
    seen = node("slinky-0", state, reason, busy, THEN)
    found = reboots_in([seen], [pod] if pod else [])
    return found[0].next if found else None


@pytest.mark.parametrize(
    ("reason", "state", "busy", "pod", "expected"),
    [
        (RESTARTS, "MIXED+DRAIN", 4, worker_pod("slinky-0", made=BEFORE), Next.WAIT),
        (RESTARTS, "IDLE+DRAIN+COMPLETING", 0, worker_pod("slinky-0", made=BEFORE), Next.WAIT),
        (RESTARTS, "IDLE+DRAIN", 0, worker_pod("slinky-0", made=BEFORE), Next.DELETE),
        (RESTARTING, "MIXED+DRAIN", 4, worker_pod("slinky-0", made=BEFORE), Next.DELETE),
        (RESTARTING, "DOWN+DRAIN", 0, None, Next.RETURN),
        (RESTARTING, "DOWN+DRAIN+NOT_RESPONDING", 0, worker_pod("slinky-0", made=AFTER), Next.RETURN),
        (RESTARTING, "IDLE+DRAIN", 0, worker_pod("slinky-0", made=AFTER, ready=False), Next.RETURN),
        (RESTARTING, "IDLE+DRAIN", 0, worker_pod("slinky-0", made=AFTER), Next.RESUME),
        (RESTARTING, "DOWN+DRAIN", 0, worker_pod("slinky-0", made=AFTER), Next.RESUME),
        (ENDED, "DOWN+DRAIN", 0, worker_pod("slinky-0", made=AFTER), Next.RESUME),
        (ENDED, "DOWN+DRAIN", 0, worker_pod("slinky-0", made=BEFORE), None),
        ("xid 79 (by ada)", "IDLE+DRAIN", 0, worker_pod("slinky-0", made=AFTER), None),
        (RESTARTING, "IDLE", 0, worker_pod("slinky-0", made=AFTER), None),
    ],
)
def test_each_restart_has_one_next_step(reason, state, busy, pod, expected):
    assert step(reason, state, busy, pod) is expected


def test_a_pod_that_is_going_is_not_deleted_again():
    going = worker_pod("slinky-0", made=BEFORE)
    going["metadata"]["deletionTimestamp"] = AFTER
    assert step(RESTARTING, pod=going) is Next.RETURN


def test_a_node_that_the_operator_wants_away_stays_drained():
    cordoned = worker_pod("slinky-0", made=AFTER)
    cordoned["metadata"]["annotations"]["nodeset.slinky.slurm.net/pod-cordon"] = "true"
    assert step(ENDED, "DOWN+DRAIN", pod=cordoned) is None
