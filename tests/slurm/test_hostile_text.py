"""No text that a user can choose forges, hides or shifts a row."""

from hypothesis import given
from hypothesis import strategies as st

from slurm.memory import Memory
from slurm.outputs.history import COLUMNS, decode_history
from slurm.outputs.nodes import decode_nodes
from slurm.outputs.queue import FIELDS, decode_queue
from slurm.outputs.text import Marks, fresh_marks
from tests.slurm.test_outputs import answer

LOOK_ALIKES = [
    b"\n",
    b"\t",
    b"\r",
    b"<",
    b">",
    b"<FFFFFFFF>",
    b"<RRRRRRRR>",
    b"\xff",
    b"\x1b[2J",
    b"(null)",
    b"|",
    b" ",
]
hostile = st.lists(st.one_of(st.binary(max_size=8), st.sampled_from(LOOK_ALIKES)), max_size=8).map(
    lambda parts: b"".join(parts).replace(b"\0", b"")
)
FREE_FIELDS = {"Name", "Comment", "WorkDir"}


def row(job_id: bytes, text: bytes, marks: Marks) -> bytes:
    fixed = {
        "JobArrayID": job_id,
        "SubmitTime": b"2026-11-30T09:43:49",
        "ArrayTaskID": b"N/A",
        "State": b"PENDING",
    }
    values = [text if name in FREE_FIELDS else fixed.get(name, b"1") for name in FIELDS]
    return marks.field.encode().join(values) + marks.record.encode() + b"\n"


@given(st.lists(hostile, max_size=5))
def test_every_hostile_name_stays_in_its_own_row(texts):
    marks = fresh_marks()
    raw = b"".join(row(str(n).encode(), text, marks) for n, text in enumerate(texts))
    jobs = decode_queue(raw, marks)
    assert [job.job_id for job in jobs] == [str(n) for n in range(len(texts))]
    assert [job.name for job in jobs] == [text.decode("utf-8", "replace") for text in texts]
    assert {job.array_job_id for job in jobs} <= {None}
    assert Memory().decode_queue(raw, marks) == jobs


@given(hostile)
def test_a_mark_of_another_call_is_only_text(text):
    old, new = fresh_marks(), fresh_marks()
    forged = text + old.record.encode() + row(b"666", b"forged", old)
    jobs = decode_queue(row(b"7", forged, new), new)
    assert [job.job_id for job in jobs] == ["7"]


@given(st.lists(hostile, min_size=1, max_size=5))
def test_hostile_names_stay_in_their_row_of_the_history(texts):
    mark = fresh_marks().field

    def line(n: int, text: bytes) -> bytes:
        fixed = {
            "JobID": str(n).encode(),
            "Submit": b"2026-11-30T09:43:49",
            "State": b"FAILED",
            "ExitCode": b"1:0",
        }
        free = {"JobName", "Comment", "WorkDir"}
        return mark.encode().join(text if c in free else fixed.get(c, b"") for c in COLUMNS) + b"\n"

    jobs = decode_history(b"".join(line(n, text) for n, text in enumerate(texts)), mark)
    assert [job.job_id for job in jobs] == [str(n) for n in range(len(texts))]
    assert [job.comment for job in jobs] == [text.decode("utf-8", "replace") for text in texts]


@given(hostile.map(lambda text: text.replace(b"\n", b" ")))
def test_a_reason_changes_no_fact_of_its_node(text):
    line = answer("24.11", "nodes.bin").split(b"\n")[0]
    (calm,) = decode_nodes(line, {}, lambda name: "")
    reason = b" Reason=" + text + b" State=DOWN CPUTot=1 Gres=gpu:99 [eve@2026-11-30T09:44:59]"
    (seen,) = decode_nodes(line + reason, {}, lambda name: "")
    assert (seen.name, seen.state, seen.cpus, seen.gpus) == (calm.name, calm.state, calm.cpus, calm.gpus)
    assert "State=DOWN" in seen.reason
