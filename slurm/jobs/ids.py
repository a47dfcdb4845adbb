"""Job ids as people and pages write them, and as Slurm's commands take them. Pure.

`12` is a job or a whole array, `12_3` one task, `12_[4-9:2%3]` the part of an array that still waits
(squeue's %i).
"""

import re

from console.errors import Rejected

JOB_ID = re.compile(r"^\d{1,10}(_\d{1,10}|\+\d{1,5}|_\[[\d,:%-]{1,65536}\])?$", re.ASCII)
_MOST_INDICES = 10_000


def valid(job_id: str) -> str:
    """The id itself. Raises Rejected for anything that is not one, so that it never reaches a command
    line."""
    if not JOB_ID.fullmatch(job_id):
        raise Rejected(f"{job_id[:40]!r} is no job id.", hint="A job id is 12, 12_3 or 12_[4-9].")
    return job_id


def number(job_id: str) -> int:
    """The job's number, or its array's: what a Submission is kept by. 0 for what is no job id at all."""
    match = re.match(r"\d{1,18}", job_id, re.ASCII)
    return int(match[0]) if match else 0


def key_of(job_id: str) -> str:
    """The id without what shrinks as tasks start: `12_[4-9%2]` is `12_[]`."""
    return f"{job_id.partition('[')[0]}[]" if "[" in job_id else job_id


def waits_in(task: str, array: str) -> bool:
    """Whether task `12_3` is among those that `12_[0-7,24-199%4]` says still wait."""
    head, _, index = task.partition("_")
    number, bracket, indices = array.partition("_[")
    if not bracket or number != head or not index.isdigit():
        return False
    return any(_holds(part, int(index)) for part in indices.rstrip("]").partition("%")[0].split(","))


def _holds(part: str, index: int) -> bool:
    """`part` is `4`, `4-8` or `4-8:2`."""
    match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
    if not match:
        return False
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    return first <= index <= last and (index - first) % max(1, step) == 0


def argument(job_id: str) -> str:
    """The id as scancel and scontrol take it: without the limit, steps written out, which they do not know.

    An array of more tasks than a command line holds is named by its number, which stands for all of its
    tasks.
    """
    head, bracket, indices = job_id.partition("[")
    if not bracket:
        return job_id
    parts = [_spelled(part) for part in indices.rstrip("]").partition("%")[0].split(",")]
    if sum(len(part) for part in parts) > _MOST_INDICES:
        return head.rstrip("_")
    return f"{head}[{','.join(','.join(part) for part in parts)}]"


def _spelled(part: str) -> list[str]:
    """`4-8:2` as 4, 6, 8; everything else as it is."""
    match = re.fullmatch(r"(\d+)-(\d+):(\d+)", part)
    if not match:
        return [part]
    return [str(n) for n in range(int(match[1]), int(match[2]) + 1, max(1, int(match[3])))]
