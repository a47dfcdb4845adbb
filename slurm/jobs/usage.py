"""What a job asked for, was given and used, from accounting: one sacct answer about one job with its steps.

Blocking, 8 s at most. Cut by a mark made anew for each call, like every answer of Slurm (`slurm.outputs.text`): names
of steps may hold anything. Usage is what Slurm's accounting gathered; where it gathers nothing it is absent, not zero.
"""

from dataclasses import dataclass

from clusters.provisioner import Executor
from console.errors import Unavailable
from slurm.complaints import complaint
from slurm.outputs.text import Unreadable, delimited_rows, fresh_marks
from slurm.outputs.values import gpus_in, parse_count, parse_memory_mib, parse_tres, text_or_empty

SACCT_S = 8.0
# The first and the last column are never free text (`delimited_rows`).
COLUMNS = (
    "JobID",
    "JobName",
    "State",
    "ElapsedRaw",
    "TotalCPU",
    "MaxRSS",
    "NTasks",
    "NodeList",
    "ReqTRES",
    "AllocTRES",
    "ExitCode",
)


@dataclass(frozen=True)
class Share:
    """Resources: CPUs, GPUs, nodes, and memory in MiB where it is known."""

    cpus: int
    gpus: int
    nodes: int
    memory_mib: int | None


@dataclass(frozen=True)
class StepUsed:
    """One step of a job (`batch`, `0`), or the job itself. CPU time is seconds on one CPU."""

    name: str
    title: str
    state: str
    elapsed_s: int
    cpu_s: float | None
    memory_mib: int | None
    tasks: int
    nodes: str
    exit_code: str


@dataclass(frozen=True)
class Usage:
    """A job in accounting. `memory_mib` is the largest task's peak; `cpu_s` is summed over all CPUs."""

    asked: Share
    given: Share
    elapsed_s: int
    cpu_s: float | None
    memory_mib: int | None
    steps: tuple[StepUsed, ...]

    @property
    def cpu_share(self) -> float | None:
        """Part of the given CPU time that was used, 0 to 1."""
        whole = self.elapsed_s * self.given.cpus
        return min(1.0, self.cpu_s / whole) if self.cpu_s is not None and whole else None

    @property
    def memory_share(self) -> float | None:
        """Part of one node's share of memory that the largest task reached, 0 to 1."""
        whole = (self.given.memory_mib or 0) / max(1, self.given.nodes)
        return min(1.0, self.memory_mib / whole) if self.memory_mib is not None and whole else None


def usage_of(executor: Executor, job_id: str) -> Usage | None:
    """Accounting's view of the newest run of `12` or `12_3`; None when it has none yet. Raises ConsoleErrors."""
    mark = fresh_marks().field
    command = [
        "sacct",
        "-n",
        "--noconvert",
        "-P",
        f"--delimiter={mark}",
        "-j",
        job_id,
        "-o",
        ",".join(COLUMNS),
    ]
    done = executor.run(command, timeout_s=SACCT_S)
    if done.code:
        raise complaint(done.stderr, f"read the accounting of job {job_id}")
    return decode_usage(done.stdout, mark, job_id)


def decode_usage(raw: bytes, mark: str, job_id: str) -> Usage | None:
    """Pure. Rows of other tasks of the same array are left out."""
    try:
        rows = list(delimited_rows(raw, mark, len(COLUMNS)))
    except Unreadable as unreadable:
        raise Unavailable(
            f"sacct's answer about job {job_id} could not be read: {unreadable}."
        ) from unreadable
    found = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    whole = next((row for row in found if row["JobID"] == job_id), None)
    if whole is None:
        return None
    steps = tuple(_step(row) for row in found if row["JobID"].startswith(f"{job_id}."))
    peaks = [step.memory_mib for step in steps if step.memory_mib is not None]
    job = _step(whole)
    return Usage(
        asked=_share(whole["ReqTRES"]),
        given=_share(whole["AllocTRES"]),
        elapsed_s=job.elapsed_s,
        cpu_s=job.cpu_s,
        memory_mib=max(peaks, default=None),
        steps=steps,
    )


def _step(row: dict[str, str]) -> StepUsed:
    return StepUsed(
        name=row["JobID"].partition(".")[2],
        title=row["JobName"],
        # `CANCELLED by 1000` names who did it.
        state=row["State"].partition(" ")[0],
        elapsed_s=parse_count(row["ElapsedRaw"]),
        cpu_s=cpu_seconds(row["TotalCPU"]),
        memory_mib=_peak_mib(row["MaxRSS"]),
        tasks=parse_count(row["NTasks"]),
        nodes=text_or_empty(row["NodeList"]),
        exit_code=row["ExitCode"],
    )


def _share(text: str) -> Share:
    tres = parse_tres(text)
    return Share(
        cpus=parse_count(tres.get("cpu", "")),
        gpus=gpus_in(tres),
        nodes=parse_count(tres.get("node", "")),
        memory_mib=parse_memory_mib(tres.get("mem", "")),
    )


def _peak_mib(text: str) -> int | None:
    """sacct --noconvert prints bytes, or `1234K` where an older one does not heed it."""
    if text.isdigit():
        return int(text) // (1024 * 1024)
    return parse_memory_mib(text)


def cpu_seconds(text: str) -> float | None:
    """`1-02:03:04`, `02:03:04`, `03:04.567`: what TotalCPU prints. None where it is not known."""
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":")
    try:
        seconds = sum(float(part) * 60**place for place, part in enumerate(reversed(parts)))
        return seconds + (int(days) * 86_400 if dash else 0)
    except ValueError:
        return None
