"""Asking the cluster about one job, for the job's page: what the queue, the script spool and accounting know.

Blocking: three commands, each with its own time limit. A part that could not be had is a sentence, never an empty part,
and one part's failure does not hide another's.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from clusters.models import Cluster
from clusters.provisioner import Executor
from console.errors import ConsoleError, Missing
from slurm.client import Slurm
from slurm.jobs.usage import Usage, usage_of
from slurm.models import Job

T = TypeVar("T")
FILES = ("Command", "Directory", "Output", "Errors")
# Shown elsewhere on the page, from the row.
SEEN = frozenset({"Job", "Name", "State", "Node count", "Eligible", *FILES})


@dataclass(frozen=True)
class Facts:
    """`detail` is squeue's by label, `problems` why the rest is missing."""

    detail: Mapping[str, str]
    script: str
    usage: Usage | None
    problems: tuple[str, ...]
    is_forgotten: bool = False

    @property
    def files(self) -> list[tuple[str, str]]:
        """Paths by label, with the marks of sbatch(1) in them filled in as far as they are known."""
        return [(label, expanded(self.detail[label], self.detail)) for label in FILES if label in self.detail]

    @property
    def eligible(self) -> str:
        """When it could first have started, as `2026-11-30 08:00:05`, UTC."""
        return self.detail.get("Eligible", "").replace("T", " ")

    @property
    def rest(self) -> list[tuple[str, str]]:
        return [(label, value) for label, value in self.detail.items() if label not in SEEN]


def facts_of(cluster: Cluster, job: Job) -> Facts:
    """Never raises for a sick cluster: it says so in the answer."""
    try:
        executor = cluster.provisioner.executor()
    except ConsoleError as error:
        return Facts({}, "", None, (error.message,))
    return gather(executor, job)


def gather(executor: Executor, job: Job) -> Facts:
    slurm = Slurm(executor)
    problems: list[str] = []
    # A task is asked for by its own id; a waiting array by its number, for which the queue gives its records.
    name = job.key.removesuffix("_[]")
    nothing: Mapping[str, str] = {}
    detail, forgotten = _asked(lambda: slurm.job(name), problems, nothing)
    script, _ = _asked(lambda: slurm.script(name), problems, "") if detail else ("", True)
    usage, _ = _asked(lambda: usage_of(executor, name), problems, None) if job.start_at else (None, True)
    return Facts(detail, script, usage, tuple(dict.fromkeys(problems)), forgotten)


def _asked(ask: Callable[[], T], problems: list[str], nothing: T) -> tuple[T, bool]:
    """The answer, and whether the cluster answered that there is none."""
    try:
        return ask(), False
    except Missing:
        return nothing, True
    except ConsoleError as error:
        problems.append(error.message)
        return nothing, False


def expanded(path: str, detail: Mapping[str, str]) -> str:
    """`slurm-%j.out` as Slurm names the file (sbatch(1), FILENAME PATTERN); marks of other kinds stay as they are.

    squeue of 24.11 prints the pattern, not the name.
    """
    base, _, index = detail.get("Job", "").partition("_")
    known = {
        "j": detail.get("Number", ""),
        "A": base,
        "a": index if index.isdigit() else "",
        "x": detail.get("Name", ""),
        "u": detail.get("User", ""),
        "%": "%",
    }

    def fill(mark: re.Match[str]) -> str:
        value = known.get(mark[2], "")
        return value.rjust(min(int(mark[1] or 0), 10), "0") if value else mark[0]

    return re.sub(r"%([0-9]*)([A-Za-z%])", fill, path)
