"""Jobs that have ended, from accounting: one `sacct -X -P` answer as JobSeen values.

Rows end with a line end, so the first and the last column are never free text (see `text.delimited_rows`).
Accounting may lack a job: one whose comment is not UTF-8 is refused by slurmdbd's database (seen in 22.05 and
24.11).
"""

import re

from clusters.observation import JobSeen
from slurm.outputs.text import delimited_rows
from slurm.outputs.values import (
    count_tasks,
    gpus_in,
    parse_count,
    parse_memory_mib,
    parse_time,
    parse_tres,
    text_or_empty,
)

COLUMNS = (
    "JobID",
    "Submit",
    "JobName",
    "User",
    "Account",
    "Partition",
    "State",
    "Reason",
    "Priority",
    "NodeList",
    "NNodes",
    "AllocCPUS",
    "ReqCPUS",
    "AllocTRES",
    "ReqTRES",
    "TimelimitRaw",
    "Start",
    "End",
    "QOS",
    "Comment",
    "WorkDir",
    "ExitCode",
)
_ARRAY = re.compile(r"(\d+)_(?:\[([^\]]*)\]|\d+)")


def decode_history(raw: bytes, mark: str) -> tuple[JobSeen, ...]:
    """Every allocation in the answer, several of one number where it was requeued. Raises Unreadable."""
    rows = delimited_rows(raw, mark, len(COLUMNS))
    found = (dict(zip(COLUMNS, row, strict=True)) for row in rows)
    jobs = (_job(row) for row in found)
    return tuple(job for job in jobs if job is not None)


def _job(found: dict[str, str]) -> JobSeen | None:
    submitted = parse_time(found["Submit"])
    if submitted is None:
        return None
    tres = parse_tres(found["AllocTRES"] or found["ReqTRES"])
    array = _ARRAY.fullmatch(found["JobID"])
    nodes = found["NodeList"]
    limit = found["TimelimitRaw"]
    return JobSeen(
        job_id=found["JobID"],
        submit_at=submitted,
        name=found["JobName"],
        user=found["User"],
        account=found["Account"],
        partition=found["Partition"],
        # "CANCELLED by 1000": who cancelled is a uid, which means nothing outside the cluster.
        state=found["State"].split(" ")[0],
        reason=text_or_empty(found["Reason"]),
        priority=parse_count(found["Priority"]),
        nodes="" if nodes == "None assigned" else nodes,
        node_count=parse_count(found["NNodes"]),
        cpus=parse_count(found["AllocCPUS"]) or parse_count(found["ReqCPUS"]),
        gpus=gpus_in(tres),
        memory_mib=parse_memory_mib(tres.get("mem", "")),
        limit_s=int(limit) * 60 if limit.isdigit() else None,
        start_at=parse_time(found["Start"]),
        end_at=parse_time(found["End"]),
        qos=found["QOS"],
        array_job_id=int(array[1]) if array else None,
        task_count=count_tasks(array[2] or "") if array else 1,
        comment=found["Comment"],
        work_dir=found["WorkDir"],
        exit_code=found["ExitCode"],
    )
