"""One look at Slurm: everything of it, or a sentence saying why not."""

from datetime import UTC, datetime

from clusters.provisioner import Completed
from console.errors import Unavailable
from slurm.client import Slurm
from slurm.memory import forget
from slurm.observe import observe_slurm
from tests.slurm.scripted import Scripted, queue
from tests.slurm.test_outputs import answer

JOB = {"JobArrayID": b"7", "SubmitTime": b"2026-11-30T09:43:49", "ArrayTaskID": b"N/A", "State": b"PENDING"}
NODES = answer("24.11", "nodes.bin").split(b"\n")[0] + b"\n"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def script(**answers):
    return Scripted(
        {
            "squeue": queue([JOB]),
            "scontrol -a -o show nodes": NODES,
            "scontrol -a -o show partitions": answer("24.11", "partitions.txt"),
            **answers,
        }
    )


def look(executor, key=""):
    machines = {"cpu-workers-0": "e2e_node_9"}
    return observe_slurm(Slurm(executor, remember=key), machines, lambda name: "Ready", now=lambda: NOON)


def test_one_look_holds_nodes_partitions_and_jobs():
    seen = look(script())
    assert seen.taken_at == NOON and seen.problem == ""
    assert [(n.name, n.machine, n.machine_state) for n in seen.nodes] == [
        ("cpu-workers-0", "e2e_node_9", "Ready")
    ]
    assert [job.job_id for job in seen.jobs] == ["7"] and len(seen.partitions) == 3


def test_no_answer_is_not_an_empty_queue():
    for broken in (
        {"squeue": Unavailable("squeue did not answer within 4 s.")},
        {"scontrol -a -o show nodes": Completed(1, b"", "Unable to contact slurm controller")},
        {"scontrol -a -o show partitions": b"garbage\n"},
    ):
        seen = look(script(**broken))
        assert seen.jobs is None and seen.nodes is None and seen.partitions is None
        assert seen.problem


def test_unchanged_answers_give_the_very_same_values():
    executor = script()
    first, second = look(executor, "c1"), look(executor, "c1")
    forget("c1")
    assert first.jobs is second.jobs and first.nodes is second.nodes
    assert executor.asked[0] != executor.asked[3], "each call has marks of its own"


def test_a_changed_machine_is_seen_though_slurm_says_nothing_new():
    slurm = Slurm(script())
    before = observe_slurm(slurm, {}, lambda name: "Ready").nodes
    after = observe_slurm(slurm, {}, lambda name: "NotReady").nodes
    assert [n.machine_state for n in (*before, *after)] == ["Ready", "NotReady"]
