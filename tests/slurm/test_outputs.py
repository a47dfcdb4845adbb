"""What the decoders make of answers recorded from real controllers of three versions."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from slurm.outputs.config import controller_is_up, decode_config
from slurm.outputs.detail import decode_details
from slurm.outputs.history import decode_history
from slurm.outputs.nodes import decode_nodes, decode_partitions, decode_texts, has_free_lines, without_texts
from slurm.outputs.queue import decode_queue
from slurm.outputs.text import Marks, Unreadable
from slurm.outputs.values import (
    count_tasks,
    exit_code,
    gpus_in,
    gpus_in_gres,
    parse_duration_s,
    parse_memory_mib,
    parse_tres,
)

DATA = Path(__file__).parents[1] / "data" / "slurm"
RECORDED = Marks("<FFFFFFFF>", "<RRRRRRRR>")
VERSIONS = ["22.05", "24.11", "26.05"]
versions = pytest.mark.parametrize("version", VERSIONS)


def answer(version: str, name: str) -> bytes:
    return (DATA / version / name).read_bytes()


def nodes_of(version: str):
    raw = answer(version, "nodes.bin")
    texts = decode_texts(answer(version, "node_texts.bin"), RECORDED)
    found = decode_nodes(without_texts(raw, texts), {"slinky-0": "e2e_node_682"}, lambda name: "")
    return {node.name: node for node in found}


@versions
def test_queue_shows_arrays_as_one_row_with_their_task_count(version):
    jobs = decode_queue(answer(version, "queue.bin"), RECORDED)
    waiting = next(job for job in jobs if job.job_id.endswith("%4]"))
    assert (waiting.state, waiting.reason, waiting.gpus) == ("PENDING", "JobArrayTaskLimit", 1)
    assert 62 <= waiting.task_count <= 63
    assert waiting.limit_s == 1800
    tasks = [job for job in jobs if job.array_job_id == waiting.array_job_id and job is not waiting]
    assert {task.task_count for task in tasks} == {1}


@versions
def test_gpus_of_waiting_and_running_jobs_come_from_tres(version):
    jobs = decode_queue(answer(version, "queue.bin"), RECORDED)
    big = next(job for job in jobs if job.node_count == 4)
    assert (big.gpus, big.memory_mib, big.partition) == (32, 400, "all,slinky")
    held = next(job for job in jobs if job.reason == "JobHeldUser")
    assert (held.gpus, held.cpus, held.memory_mib) == (0, 4, 8192)


@versions
def test_times_and_exit_codes_read_the_same_in_every_version(version):
    jobs = decode_queue(answer(version, "queue.bin"), RECORDED)
    failed = next(job for job in jobs if job.name == "fails")
    assert (failed.state, failed.exit_code) == ("FAILED", "3:0")
    later = next(job for job in jobs if job.name == "later")
    assert later.start_at == datetime(2026, 12, 1, 9, 52, later.start_at.second, tzinfo=UTC)
    assert later.reason == "BeginTime"
    assert next(job for job in jobs if job.name == "waits").dependency.startswith("afterok:")


@versions
def test_comment_that_forges_a_node_is_taken_out(version):
    raw = answer(version, "nodes.bin")
    assert b"\nNodeName=slinky-7 Arch" in raw and has_free_lines(raw)
    assert set(nodes_of(version)) == {"cpu-workers-0", "cpu-workers-1", *(f"slinky-{n}" for n in range(4))}


@versions
def test_nodes_carry_gpus_state_machine_and_who_drained_them(version):
    nodes = nodes_of(version)
    busy = nodes["slinky-0"]
    assert (busy.machine, busy.state.word, busy.gpus) == ("e2e_node_682", "mixed", 8)
    assert busy.gpus_allocated >= 4 and busy.memory_mib == 64000 and busy.partitions == ("all", "slinky")
    drained = nodes["slinky-1"]
    assert drained.state.word == "drained" and drained.reason_by == "root"
    assert drained.reason.startswith("a b Comment=x State=IDLE [root@2020-01-01T00:00:00]")
    assert "NodeName=slinky-9" in drained.reason
    assert drained.reason_at.year == 2026
    assert nodes["cpu-workers-0"].gpus == 0


@versions
def test_partitions_read_times_in_minutes_and_the_default(version):
    found = {partition.name: partition for partition in decode_partitions(answer(version, "partitions.txt"))}
    assert list(found) == ["all", "slinky", "cpu-workers"]
    assert found["all"].is_default and found["all"].max_time_minutes is None
    assert found["cpu-workers"].max_time_minutes == 1440
    assert (found["slinky"].nodes, found["slinky"].total_nodes) == ("slinky-[0-3]", 4)
    assert found["all"].fields["OverSubscribe"] == "NO"


@versions
def test_history_gives_ended_jobs_with_their_exit_code(version):
    jobs = decode_history(answer(version, "history.bin"), RECORDED.field)
    failed = next(job for job in jobs if job.name == "fails")
    assert (failed.state, failed.exit_code, failed.nodes) == ("FAILED", "3:0", "cpu-workers-0")
    assert failed.end_at and failed.end_at >= failed.start_at


@versions
def test_detail_is_ordered_and_leaves_out_what_a_job_has_not(version):
    held = next(
        record
        for record in decode_details(answer(version, "detail.bin"), RECORDED)
        if record["Reason"] == "JobHeldUser"
    )
    assert list(held)[:3] == ["Job", "Name", "User"]
    assert "Comment" not in held and held["Directory"].startswith("/")


@versions
def test_config_keeps_slurms_own_spelling(version):
    config = decode_config(answer(version, "config.txt"))
    assert config["ClusterName"] == "sandbox"
    assert config["MinJobAge"] == "300 sec"


def test_answers_that_are_cut_off_are_unreadable_not_shorter():
    raw = answer("24.11", "queue.bin")
    with pytest.raises(Unreadable):
        decode_queue(raw[:-30], RECORDED)
    with pytest.raises(Unreadable):
        decode_history(answer("24.11", "history.bin")[:-10], RECORDED.field)
    with pytest.raises(Unreadable):
        decode_config(b"slurm_load_ctl_conf error\n")
    assert decode_queue(b"", RECORDED) == () and decode_history(b"", RECORDED.field) == ()


def test_a_node_that_comes_twice_is_refused():
    line = answer("24.11", "nodes.bin").split(b"\n")[0] + b"\n"
    with pytest.raises(Unreadable):
        decode_nodes(line * 2, {}, lambda name: "")


def test_ping_believes_only_a_controller_that_says_up():
    assert controller_is_up(b"Slurmctld(primary) at vm is UP\n")
    assert not controller_is_up(b"Slurmctld(primary) at vm is DOWN\n")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30:00", 1800),
        ("1-00:00:00", 86400),
        ("2-12", 216000),
        ("1:00:00", 3600),
        ("90", 5400),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("1-01:30", 91800),
    ],
)
def test_durations(text, seconds):
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    ("indices", "tasks"), [("4", 1), ("4-9%2", 6), ("0-200:3", 67), ("1,3,5-6", 4), ("N/A", 1), ("0", 1)]
)
def test_task_counts(indices, tasks):
    assert count_tasks(indices) == tasks


def test_memory_tres_and_exit_codes():
    assert [parse_memory_mib(text) for text in ("62.50G", "400M", "64000", "2048K", "")] == [
        64000,
        400,
        64000,
        2,
        None,
    ]
    assert gpus_in(parse_tres("cpu=4,gres/gpu=8,gres/gpu:h100=8")) == 8
    assert gpus_in(parse_tres("gres/gpu:h100=4,gres/gpu:a100=2")) == 6
    assert (
        gpus_in_gres("gpu:h100:8(S:0-1),shard:4") == 8
        and gpus_in_gres("gpu:4") == 4
        and gpus_in_gres("(null)") == 0
    )
    assert [exit_code(text) for text in ("768", "9", "3:0", "0")] == ["3:0", "0:9", "3:0", "0:0"]
