"""What an act costs: worked out from what the platform touches and what was seen, put into words, and compared."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from clusters.acts import (
    Delete,
    Does,
    Drain,
    Edit,
    Fate,
    PartKind,
    Reboot,
    RestartPart,
    Terminate,
    Touch,
    sort_of,
)
from clusters.impact import Impact, JobHere, Seen, from_json, growth, impact_of, to_json
from clusters.impact_words import rows_of, summary
from clusters.spec import Mount, PartitionSpec
from tests.cast import tiny_spec
from tests.fake_foresight import foreseen

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SPEC = tiny_spec()


def job(number: int, *nodes: str, partitions: tuple[str, ...] = ("all",), **fields: object) -> JobHere:
    facts: dict[str, object] = {
        "gpus": 8,
        "start_at": NOON,
        "end_at": NOON + timedelta(hours=number),
        **fields,
    }
    return JobHere(str(number), str(number), "train", "mo", nodes=nodes, partitions=partitions, **facts)  # type: ignore[arg-type]


def waiting(number: int, *partitions: str) -> JobHere:
    return job(number, partitions=partitions or ("all",), waits=True, start_at=None)


def impact(act, *jobs: JobHere, **fields: object) -> Impact:
    return impact_of(act, foreseen(act), Seen(jobs=jobs, **fields))  # type: ignore[arg-type]


def fates(found: Impact) -> dict[str, Fate]:
    return {job.key: job.fate for job in found.jobs}


def test_shrinking_waits_for_the_jobs_on_nodes_that_go_and_for_no_other():
    act = Edit(SPEC, tiny_spec(nodes=1))
    found = impact(act, job(1, "slinky-0"), job(2, "slinky-0", "slinky-1"), job(3, "slinky-1"), waiting(4))
    assert fates(found) == {"2": Fate.AWAITED, "3": Fate.AWAITED}
    assert (found.running, found.waiting) == (1, 1)
    assert found.until == NOON + timedelta(hours=3)
    assert found.nodes_that(Does.GOES) == ("slinky-1",)
    assert not found.stopped


def test_forced_shrinking_ends_them():
    found = impact(Edit(SPEC, tiny_spec(nodes=1), force=True), job(2, "slinky-1"), job(3, "slinky-0"))
    assert fates(found) == {"2": Fate.ENDS}
    assert summary(found) == ", ending 1 job"


def test_a_wait_for_a_job_without_a_limit_has_no_end():
    act = Reboot(SPEC, ("slinky-0",), when_idle=True)
    assert impact(act, job(1, "slinky-0"), job(2, "slinky-0", end_at=None)).until is None


def test_the_worst_that_happens_to_one_of_its_nodes_happens_to_a_job():
    touches = (
        Touch(PartKind.WORKERS, Does.RESTARTS, ("slinky-0",), Fate.QUEUED),
        Touch(PartKind.WORKERS, Does.GOES, ("slinky-1",), Fate.ENDS),
    )
    found = impact_of(
        Edit(SPEC, SPEC), touches, Seen(jobs=(job(1, "slinky-0", "slinky-1"), job(2, "slinky-0")))
    )
    assert fates(found) == {"1": Fate.ENDS, "2": Fate.QUEUED}


def test_a_partition_that_goes_takes_its_jobs_along_and_waiting_ones_that_name_it_among_others():
    act = Edit(SPEC, replace(SPEC, partitions=()))
    found = impact(
        act,
        job(1, "slinky-0", partitions=("debug",)),
        job(2, "slinky-0"),
        waiting(3, "debug"),
        waiting(4, "debug", "all"),
    )
    assert fates(found) == {"1": Fate.ENDS, "3": Fate.DROPPED, "4": Fate.DROPPED}
    assert found.partitions_gone == ("debug",)
    assert summary(found) == ", ending 1 job, dropping 2 waiting jobs"


def test_the_last_node_of_a_group_takes_the_groups_partition_along():
    found = impact(Edit(SPEC, tiny_spec(cpu_nodes=0)), waiting(1, "cpu-workers"))
    assert found.partitions_gone == ("cpu-workers",) and fates(found) == {"1": Fate.DROPPED}


@pytest.mark.parametrize("act", [Terminate(SPEC), Delete(SPEC)])
def test_an_ending_ends_what_runs_and_drops_what_waits(act):
    found = impact(act, job(1, "slinky-0"), waiting=50_000)
    assert fates(found) == {"1": Fate.ENDS} and found.number(Fate.DROPPED) == 50_000
    assert summary(found) == ", ending 1 job"
    assert growth(found, impact(act, job(1, "slinky-0"), waiting=60_000)) == ()
    assert impact(REBOOT, waiting=7).waiting == 7


def test_of_very_many_jobs_the_first_are_listed_and_all_are_counted():
    many = [job(n, "slinky-0") for n in range(1, 2511)]
    found = impact(REBOOT, *many)
    assert (len(found.queued), found.number(Fate.QUEUED)) == (2000, 2510)
    assert summary(found) == ", ending 2510 jobs"
    assert from_json(to_json(found)) == found
    assert growth(found, impact(REBOOT, *many[:-1])) == ()
    assert growth(found, impact(REBOOT, *many, job(3000, "slinky-0")))[0].startswith("2511 jobs with")


def test_what_it_takes_is_the_median_of_the_last_ones_of_its_sort():
    act = Edit(SPEC, tiny_spec(nodes=3))
    assert impact(act, took_s=(1.0, 90.0, 3.0)).takes_s == 3.0
    assert impact(act).takes_s is None


@pytest.mark.parametrize(
    ("after", "sort"),
    [
        (tiny_spec(nodes=3), "scale up"),
        (replace(tiny_spec(nodes=1), slurm_conf="MaxJobCount=5\n"), "scale down"),
        (replace(SPEC, slurm_conf="MaxJobCount=5\n"), "slurm.conf"),
        (replace(SPEC, partitions=()), "partitions"),
        (replace(SPEC, image="slurm-26-05", slurm_version="26.05"), "image"),
        (replace(SPEC, ssh_keys=("ssh-ed25519 AAAA",)), "ssh keys"),
    ],
)
def test_edits_of_one_sort_are_compared_with_each_other(after, sort):
    assert sort_of(Edit(SPEC, after)) == sort


def test_losses_are_told_once_for_each_part():
    found = impact(RestartPart(SPEC, PartKind.WORKERS))
    assert [(loss.part, loss.places, loss.nodes) for loss in found.losses] == [
        (PartKind.WORKERS, ("/tmp", "/dev/shm"), SPEC.node_names)
    ]


def test_a_volume_at_a_place_keeps_what_is_there():
    spec = replace(SPEC, mounts=(Mount("v1", "homes", "/home"), Mount("v2", "fast", "/tmp/fast")))
    found = impact(RestartPart(spec, PartKind.LOGIN))
    assert [loss.places for loss in found.losses] == [("/tmp",)]
    assert "homes and volumes" in said(found)["Stays"]


def test_mounts_are_told_by_their_paths():
    home, data = Mount("v1", "homes", "/home"), Mount("v2", "data", "/data")
    found = impact(Edit(replace(SPEC, mounts=(home,)), replace(SPEC, mounts=(data,))))
    assert (found.mounted, found.unmounted) == (("/data",), ("/home",))
    renamed = replace(SPEC, mounts=(replace(home, name="other"),))
    assert impact(Edit(replace(SPEC, mounts=(home,)), renamed)).mounted == ()


def test_an_impact_survives_its_stored_form():
    found = impact(
        Edit(SPEC, tiny_spec(nodes=1)), job(1, "slinky-1"), as_of=NOON, machines={"slinky-1": "m7"}
    )
    assert from_json(to_json(found)) == found
    assert found.machines == {"slinky-1": "m7"}


REBOOT = Reboot(SPEC, ("slinky-0",))


def test_no_more_than_promised_is_no_growth():
    promised = impact(REBOOT, job(1, "slinky-0"), job(2, "slinky-0"))
    assert growth(promised, impact(REBOOT, job(2, "slinky-0"), job(3, "slinky-1"))) == ()


def test_another_job_that_would_end_is_growth_between_a_dialog_and_its_answer():
    promised = impact(REBOOT, job(1, "slinky-0"))
    assert growth(promised, impact(REBOOT, job(2, "slinky-0"))) == ("2 of mo would end now, too.",)


def test_between_a_day_and_the_next_only_more_jobs_or_gpus_are_growth():
    promised = impact(REBOOT, job(1, "slinky-0"))
    assert growth(promised, impact(REBOOT, job(2, "slinky-0")), by_name=False) == ()
    more = growth(promised, impact(REBOOT, job(2, "slinky-0"), job(3, "slinky-0", gpus=0)), by_name=False)
    assert more == ("2 jobs with 8 GPUs would end now, where 1 with 8 were promised.",)
    assert growth(promised, impact(REBOOT, job(2, "slinky-0", gpus=9)), by_name=False)


def test_more_restarts_and_more_losses_are_growth():
    promised = impact(REBOOT)
    login = impact(RestartPart(SPEC, PartKind.LOGIN))
    assert growth(promised, login) == (
        "The login would restart, too.",
        "Files in /home of the login would go, too.",
        "Files in /tmp of the login would go, too.",
    )
    both = impact(Reboot(SPEC, ("slinky-0", "slinky-1")))
    assert growth(promised, both) == ("slinky-1 would restart or go, too.",)


def said(found: Impact) -> dict[str, str]:
    return {row.label: " ".join([row.text, *row.names, row.note]).strip() for row in rows_of(found)}


def test_words_of_a_restart_of_the_controller():
    found = said(impact(RestartPart(SPEC, PartKind.CONTROLLER), job(1, "slinky-0"), waiting(2)))
    assert found["Restarts"] == "the controller" and "do not answer for some seconds" in found["Meanwhile"]
    assert (found["Ends"], found["Lost"]) == ("no job", "no file")
    assert found["Stays"].startswith("1 running job goes on, 1 waiting job in the queue, accounting")
    assert "open terminals" in found["Stays"]


def test_words_of_a_restart_of_the_login_node_do_not_keep_what_it_loses():
    found = said(impact(RestartPart(SPEC, PartKind.LOGIN)))
    assert found["Lost"] == "files on the login node, in /home /tmp"
    assert "homes" not in found["Stays"] and "terminals" not in found["Stays"]


def test_nodes_are_called_by_both_names():
    found = impact(Drain(SPEC, ("slinky-0",)), machines={"slinky-0": "e2e_node_7"})
    assert from_json(to_json(found)).machines == {}, (
        "a drain is no act of the platform: nothing is touched here"
    )
    shrink = impact(Edit(SPEC, tiny_spec(nodes=1)), machines={"slinky-1": "e2e_node_8"})
    assert said(shrink)["Removes"].startswith("1 node e2e_node_8 (slinky-1)")


def test_a_partition_on_nodes_that_stay_is_said_to_leave_them_in_place():
    found = said(impact(Edit(SPEC, replace(SPEC, partitions=()))))
    assert found["Takes away"] == "the partition debug Its nodes stay in their other partitions."


def test_a_new_partition_costs_nothing_but_a_new_reading():
    more = replace(SPEC, partitions=(*SPEC.partitions, PartitionSpec("train", "slinky-1")))
    found = said(impact(Edit(SPEC, more)))
    assert found["Reads again"].startswith("the controller") and found["Ends"] == "no job"
