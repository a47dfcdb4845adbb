"""Whether a controller that ends is evidence against its present configuration."""

import pytest

from slurm.provisioners.slinky.crash import Crash, crash_of, crash_words
from slurm.provisioners.slinky.scene import Scene
from tests.slurm.slinky.things import NAMES, ended, pod, thing, waiting

CHANGED = "2026-11-30T12:10:00Z"


def scene(made: str, began: str, over: str, code: int = 1) -> Scene:
    last = ended(began, over, code)
    crashing = pod(
        NAMES.controller_pod,
        "controller",
        ready=False,
        made=made,
        containerStatuses=[waiting("slurmctld", "CrashLoopBackOff", **last)],
    )
    conf = thing("ConfigMap", NAMES.running_conf)
    conf["metadata"]["managedFields"] = [{"time": "2026-11-30T12:00:00Z"}, {"time": CHANGED}]
    return Scene(NAMES, pods=(crashing,), running_conf=conf)


@pytest.mark.parametrize(
    ("made", "began", "over", "by_this_file"),
    [
        ("12:11:00", "12:11:01", "12:11:02", True),
        ("12:00:00", "12:00:01", "12:10:05", True),
        ("12:10:00", "12:10:00", "12:10:01", False),
        ("12:00:00", "12:00:01", "12:10:00", False),
        ("12:00:00", "12:11:00", "12:11:01", False),
        ("12:00:00", "12:05:00", "12:05:01", False),
        ("12:00:00", "12:09:58", "12:10:01", False),
    ],
    ids=[
        "pod is younger than the file",
        "ran well and ended with the new file",
        "pod was made in the second of the change",
        "ended in the second of the change",
        "may have read either file",
        "ended before the file changed",
        "was crashing when the file changed",
    ],
)
def test_only_an_end_with_the_present_file_speaks_against_it(made, began, over, by_this_file):
    times = (f"2026-11-30T{moment}Z" for moment in (made, began, over))
    assert crash_of(scene(*times)) == Crash(1, by_this_file)


def test_a_controller_that_runs_has_not_crashed():
    assert crash_of(Scene(NAMES, pods=(pod(NAMES.controller_pod, "controller"),))) is None
    assert crash_of(Scene(NAMES)) is None


def test_a_controller_that_ended_well_has_not_crashed():
    assert crash_of(scene(CHANGED, CHANGED, CHANGED, code=0)) is None


def test_the_reason_is_the_daemons_own():
    log = [
        "slurmctld: error: Invalid PrologFlag: NoSuchFlag",
        "slurmctld: fatal: PrologFlags invalid: NoSuchFlag",
    ]
    words = crash_words(log, "PrologFlags=NoSuchFlag\n", Crash(1, True))
    assert words.startswith("The controller does not live with this configuration: slurmctld: ")
    assert "NoSuchFlag" in words


def test_a_controller_that_lacks_only_its_accounting_is_not_blamed():
    log = [
        "slurmctld: error: slurm_persist_conn_open_without_init: failed to open persistent connection to host:x",
        "slurmctld: fatal: You are running with a database but for some reason we have no TRES from it.",
    ]
    assert crash_words(log, "", Crash(1, True)) == ""
    asking = "slurmctld: Still don't know my ClusterID; Retrying initial connection to slurmdbd"
    assert crash_words([asking], "", Crash(1, True)) == ""


def test_a_silent_end_is_still_told():
    assert crash_words([], "", Crash(1, True)).startswith("The controller does not live with")
