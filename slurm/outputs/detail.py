"""Everything about one job, in an order for reading, by the same unforgeable way as the queue.

`scontrol show job` is not used: the job's name stands in it before the facts, with nothing to tell them
apart.
"""

from collections.abc import Mapping

from slurm.outputs.text import Marks, fields, long_format, records
from slurm.outputs.values import exit_code, text_or_empty

# squeue's field -> the words on the page. All exist in 22.05, 24.11 and 26.05.
LABELS = {
    "JobArrayID": "Job",
    "Name": "Name",
    "UserName": "User",
    "GroupName": "Group",
    "Account": "Account",
    "QOS": "QOS",
    "State": "State",
    "Reason": "Reason",
    "PriorityLong": "Priority",
    "Nice": "Nice",
    "Partition": "Partition",
    "NodeList": "Nodes",
    "NumNodes": "Node count",
    "NumCPUs": "CPUs",
    "tres-alloc": "Resources",
    "tres-per-node": "Resources per node",
    "tres-per-task": "Resources per task",
    "MinMemory": "Memory asked",
    "Feature": "Features asked",
    "ReqNodes": "Nodes asked",
    "SchedNodes": "Nodes planned",
    "SubmitTime": "Submitted",
    "EligibleTime": "Eligible",
    "StartTime": "Start",
    "EndTime": "End",
    "TimeUsed": "Time used",
    "TimeLimit": "Time limit",
    "Dependency": "Dependency",
    "Requeue": "May be requeued",
    "RestartCnt": "Restarts",
    "OverSubscribe": "Oversubscribe",
    "Reservation": "Reservation",
    "Licenses": "Licenses",
    "exit_code": "Exit code",
    "Command": "Command",
    "WorkDir": "Directory",
    "STDOUT": "Output",
    "STDERR": "Errors",
    "Comment": "Comment",
    "admin_comment": "Comment by an operator",
    "system_comment": "Comment by Slurm",
    "JobID": "Number",
}
_FIELDS = tuple(LABELS)


def detail_format(marks: Marks) -> str:
    return long_format(_FIELDS, marks)


def decode_details(raw: bytes, marks: Marks) -> tuple[Mapping[str, str], ...]:
    """For each record an ordered mapping of label to text; what the job does not have is absent. Times are
    UTC."""
    mark = marks.field.encode()
    return tuple(_labelled(fields(record, mark, len(_FIELDS))) for record in records(raw, marks))


def _labelled(values: list[str]) -> dict[str, str]:
    found = dict(zip(_FIELDS, values, strict=True))
    found["exit_code"] = exit_code(found["exit_code"])
    return {LABELS[name]: value for name, value in found.items() if text_or_empty(value)}
