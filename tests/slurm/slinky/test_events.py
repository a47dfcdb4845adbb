"""Warnings of the operator and of Kubernetes, in the words of the page."""

from datetime import UTC, datetime, timedelta

import pytest

from slurm.provisioners.slinky.events import first_about, frozen_at, warnings_in
from tests.slurm.slinky.things import NAMES, warning

NOW = datetime(2026, 11, 30, 12, 1, tzinfo=UTC)
BASE = NAMES.base


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            warning(
                "SlurmNodeNotRegistered",
                f"Deleting Pod {NAMES.namespace}/{BASE}-slinky-3: Slurm node is not registered but pod is healthy",
                f"{BASE}-slinky",
                "NodeSet",
            ),
            "Worker slinky-3 does not register with the controller, and the operator replaces its pod again and again.",
        ),
        (
            warning(
                "FailedScheduling",
                "0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node "
                "affinity/selector. preemption: 0/5 nodes are available: 5 Preemption is not helpful.",
                f"{BASE}-slinky-0",
            ),
            "Slinky-0 is not placed: no machine takes it: 3 with too little nvidia.com/gpu, 2 node(s) didn't match "
            "Pod's node affinity/selector.",
        ),
        (
            warning(
                "FailedScheduling",
                "0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
                f"{BASE}-controller-0",
            ),
            "The controller is not placed: its volume is not bound yet.",
        ),
        (
            warning("Failed", 'Failed to pull image "x:1": not found', f"{BASE}-login-86c994cccd-nrlh9"),
            'The login node does not start: Failed to pull image "x:1": not found.',
        ),
        (
            warning(
                "FailedCreate",
                'create Pod failed: pods "x" is forbidden: exceeded quota: gpus, requested: pods=1, used: pods=9, '
                "limited: pods=9",
                f"{BASE}-slinky",
                "NodeSet",
            ),
            "Slinky is over the namespace's quota: gpus, requested: pods=1, used: pods=9, limited: pods=9.",
        ),
        (
            warning("ControllerRefFailed", 'Controller "x" not found', f"{BASE}-slinky", "NodeSet"),
            'The operator could not bring slinky about: Controller "x" not found.',
        ),
        (
            warning("NodeNotReady", "Node is not ready", f"{BASE}-accounting-0"),
            "The machine of accounting does not answer Kubernetes any more.",
        ),
        (
            warning("Odd", "some  new\nwords", f"{BASE}-slinky-0"),
            "Kubernetes says of slinky-0: Odd: some new words.",
        ),
    ],
    ids=lambda value: value["reason"] if isinstance(value, dict) else "",
)
def test_a_warning_is_a_sentence(event, expected):
    assert [warned.text for warned in warnings_in([event], NAMES, NOW)] == [expected]


def test_a_frozen_operator_is_recognised():
    found = warnings_in([warning("SyncFinalizerFailed", "dial tcp: refused", f"{BASE}-slinky")], NAMES, NOW)
    assert frozen_at(found) and "frozen" in found[0].text
    assert frozen_at(warnings_in([warning("BackOff", "x", f"{BASE}-slinky-0")], NAMES, NOW)) is None


def test_only_what_is_recent_and_of_this_cluster_counts():
    old = warning("BackOff", "x", f"{BASE}-slinky-0", at=(NOW - timedelta(minutes=9)).isoformat())
    other = warning("BackOff", "x", "other-c9-slinky-0")
    normal = {**warning("Created", "x", f"{BASE}-slinky-0"), "type": "Normal"}
    assert warnings_in([old, other, normal], NAMES, NOW) == ()


def test_the_newest_comes_first_and_repeats_are_said_once():
    events = [
        warning("BackOff", "first", f"{BASE}-slinky-0", at="2026-11-30T12:00:10Z"),
        warning("BackOff", "second", f"{BASE}-slinky-0", at="2026-11-30T12:00:30Z"),
        warning("BackOff", "first", f"{BASE}-slinky-0", at="2026-11-30T12:00:20Z"),
    ]
    found = warnings_in(events, NAMES, NOW)
    assert [warned.text.rsplit(" ", 1)[1] for warned in found] == ["second.", "first."]
    assert first_about(found, f"{BASE}-slinky-0") == found[0].text
    assert first_about(found, f"{BASE}-slinky-1") == ""
