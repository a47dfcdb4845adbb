"""A cluster whose commands answer from a table, for pages that ask Slurm. Only what those pages ask is spoken.

Answers are cut by the marks that the caller put into its own command line, as the real commands do it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clusters.provisioner import ClusterRef, Completed
from console.errors import Unavailable
from slurm.jobs.usage import COLUMNS

SCRIPT = "#!/bin/bash\n#SBATCH --job-name=train-70b\nsrun python train.py --steps 20000\n"
DETAIL = {
    "UserName": "kim",
    "GroupName": "kim",
    "Account": "vision",
    "QOS": "normal",
    "State": "RUNNING",
    "Reason": "None",
    "PriorityLong": "1000",
    "Partition": "all",
    "tres-alloc": "cpu=256,mem=1T,node=4,billing=256,gres/gpu=32",
    "SubmitTime": "2026-11-30T08:00:00",
    "EligibleTime": "2026-11-30T08:00:05",
    "Command": "/home/kim/runs/train.sh",
    "WorkDir": "/home/kim/runs",
    "STDOUT": "/home/kim/runs/train-70b-90003.out",
    "STDERR": "/home/kim/runs/train-70b-90003.out",
    "Requeue": "YES",
}
USAGE = (
    {
        "JobID": "{id}",
        "JobName": "train-70b",
        "State": "RUNNING",
        "ElapsedRaw": "108000",
        "TotalCPU": "250-00:00:00",
        "ReqTRES": "billing=256,cpu=256,gres/gpu=32,mem=1T,node=4",
        "AllocTRES": "billing=256,cpu=256,gres/gpu=32,mem=1T,node=4",
        "NodeList": "slinky-[0-3]",
        "ExitCode": "0:0",
    },
    {
        "JobID": "{id}.batch",
        "JobName": "batch",
        "State": "RUNNING",
        "ElapsedRaw": "108000",
        "TotalCPU": "00:01:02",
        "MaxRSS": "5242880",
        "NTasks": "1",
        "NodeList": "slinky-0",
        "ExitCode": "0:0",
    },
    {
        "JobID": "{id}.0",
        "JobName": "python <b>\nforged|row",
        "State": "CANCELLED by 1000",
        "ElapsedRaw": "107990",
        "TotalCPU": "249-23:58:58",
        "MaxRSS": "171798691840",
        "NTasks": "32",
        "NodeList": "slinky-[0-3]",
        "ExitCode": "0:15",
    },
)


@dataclass
class FakeExecutor:
    """`silent` is a controller that does not answer."""

    silent: bool = False
    script: str = SCRIPT
    asked: list[list[str]] = field(default_factory=list)
    sent: bytes = b""

    def run_each(self, commands: Sequence[Sequence[str]], *, timeout_s: float = 4.0) -> tuple[Completed, ...]:
        return tuple(self.run(command, timeout_s=timeout_s) for command in commands)

    def run(self, argv: Sequence[str], *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        self.asked.append(list(argv))
        self.sent = stdin
        if self.silent:
            raise Unavailable(f"{argv[0]} did not answer within {timeout_s:g} s.")
        speak = {
            "squeue": self._squeue,
            "sacct": self._sacct,
            "scontrol": self._scontrol,
            "sbatch": self._sbatch,
        }
        answer = speak.get(argv[0], self._nothing)
        return Completed(0, answer(list(argv)).encode(), "")

    def _nothing(self, argv: list[str]) -> str:
        return ""

    def _sbatch(self, argv: list[str]) -> str:
        return "4711\n"

    def _squeue(self, argv: list[str]) -> str:
        job_id = argv[argv.index("-j") + 1]
        values = {**DETAIL, "JobArrayID": job_id, "Name": "train-70b"}
        fields = [part.partition(":") for part in argv[argv.index("-O") + 1].split(",")]
        return "".join(f"{values.get(name, 'N/A')}{mark}" for name, _, mark in fields) + "\n"

    def _sacct(self, argv: list[str]) -> str:
        job_id = argv[argv.index("-j") + 1]
        mark = next(word for word in argv if word.startswith("--delimiter=")).partition("=")[2]
        rows = ([row.get(column, "").format(id=job_id) for column in COLUMNS] for row in USAGE)
        return "".join(f"{mark.join(row)}\n" for row in rows)

    def _scontrol(self, argv: list[str]) -> str:
        return self.script if "batch_script" in argv else ""


class FakeProvisioner:
    """Gives the executor of the class: tests set it, one at a time."""

    hands = FakeExecutor()

    def __init__(self, ref: ClusterRef) -> None:
        self.ref = ref

    def executor(self, login: str = "") -> FakeExecutor:
        return type(self).hands

    def login_executor(self) -> FakeExecutor:
        return self.executor()
