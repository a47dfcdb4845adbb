"""The queue: one `squeue -O` answer as JobSeen values.

`-O` without widths cuts nothing and takes a mark after each field in every version from 22.05 to 26.05; it is
the only format with `tres-alloc`, which is what a running job was given and what a waiting one asks for
(squeue(1)).
"""

from clusters.observation import JobSeen
from slurm.outputs.text import Marks, Unreadable, fields, long_format, records
from slurm.outputs.values import (
    count_tasks,
    exit_code,
    gpus_in,
    parse_count,
    parse_duration_s,
    parse_memory_mib,
    parse_time,
    parse_tres,
    text_or_empty,
)

# The last field ends the record, so it must not be free text.
FIELDS = (
    "JobArrayID",
    "SubmitTime",
    "Name",
    "UserName",
    "Account",
    "Partition",
    "State",
    "Reason",
    "PriorityLong",
    "NodeList",
    "NumNodes",
    "NumCPUs",
    "tres-alloc",
    "TimeLimit",
    "StartTime",
    "EndTime",
    "QOS",
    "Dependency",
    "ReqNodes",
    "Comment",
    "WorkDir",
    "exit_code",
    "ArrayTaskID",
    "ArrayJobID",
)


def queue_format(marks: Marks) -> str:
    return long_format(FIELDS, marks)


def decode_queue(raw: bytes, marks: Marks) -> tuple[JobSeen, ...]:
    """Every record of the queue, in squeue's order. Raises Unreadable."""
    mark = marks.field.encode()
    return tuple(decode_job(record, mark) for record in records(raw, marks))


def decode_job(record: bytes, mark: bytes) -> JobSeen:
    """One record. Times that Slurm only expects (a start planned by the scheduler) are kept as they are
    printed."""
    found = dict(zip(FIELDS, fields(record, mark, len(FIELDS)), strict=True))
    submitted = parse_time(found["SubmitTime"])
    if submitted is None:
        raise Unreadable(f"job {found['JobArrayID']!r} has no submit time")
    tres = parse_tres(found["tres-alloc"])
    is_task = found["ArrayTaskID"] != "N/A"
    return JobSeen(
        job_id=found["JobArrayID"],
        submit_at=submitted,
        name=found["Name"],
        user=found["UserName"],
        account=text_or_empty(found["Account"]),
        partition=found["Partition"],
        state=found["State"],
        reason=text_or_empty(found["Reason"]),
        priority=parse_count(found["PriorityLong"]),
        nodes=text_or_empty(found["NodeList"]),
        node_count=parse_count(found["NumNodes"]),
        cpus=parse_count(found["NumCPUs"]),
        gpus=gpus_in(tres),
        memory_mib=parse_memory_mib(tres.get("mem", "")),
        limit_s=parse_duration_s(found["TimeLimit"]),
        start_at=parse_time(found["StartTime"]),
        end_at=parse_time(found["EndTime"]),
        qos=text_or_empty(found["QOS"]),
        dependency=text_or_empty(found["Dependency"]),
        required_nodes=text_or_empty(found["ReqNodes"]),
        array_job_id=parse_count(found["ArrayJobID"]) if is_task else None,
        task_count=count_tasks(found["ArrayTaskID"]) if is_task else 1,
        comment=text_or_empty(found["Comment"]),
        work_dir=text_or_empty(found["WorkDir"]),
        exit_code=exit_code(found["exit_code"]),
    )
