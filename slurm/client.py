"""Slurm read and driven by its own commands, run beside the controller by an Executor.

Every call blocks for at most its time limit (4 s for reading) and raises ConsoleErrors only: Unavailable when
Slurm did not answer or its answer could not be read, otherwise what `slurm.complaints` makes of the command's
own words. No answer is never an empty answer. Who may call what is decided above: `slurm.operations` for
people, `slurm.observe` for adapters. Names and ids given here must have been validated; they are passed as
single arguments, never to a shell.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from clusters.observation import JobSeen, NodeSeen, PartitionSeen
from clusters.provisioner import Executor
from console.errors import Missing, Unavailable
from slurm.accounts.book import Book
from slurm.accounts.reading import Asking
from slurm.complaints import complaint, own_words
from slurm.jobs.ids import argument
from slurm.memory import memory_of
from slurm.outputs.columns import CutOff, columns_format
from slurm.outputs.config import controller_is_up, decode_config
from slurm.outputs.detail import decode_details, detail_format
from slurm.outputs.history import COLUMNS, decode_history
from slurm.outputs.nodes import decode_partitions, decode_texts, has_free_lines, texts_format, without_texts
from slurm.outputs.qos_usage import decode_qos_minutes
from slurm.outputs.queue import queue_format
from slurm.outputs.shares import (
    SHARE_COLUMNS,
    Priority,
    Share,
    decode_priorities,
    decode_shares,
    priority_format,
)
from slurm.outputs.text import Marks, Unreadable, decoded, fresh_marks

NODES = ("scontrol", "-a", "-o", "show", "nodes")
PARTITIONS = ("scontrol", "-a", "-o", "show", "partitions")
CONFIG = ("scontrol", "show", "config")

READ_S = 4.0
WRITE_S = 10.0
HISTORY_S = 20.0
BOOK_S = 10.0
T = TypeVar("T")

# Every record, hidden partitions and ended jobs included, arrays as one, numbers without units, this cluster
# only.
QUEUE = ("squeue", "--local", "--noconvert", "-h", "-a", "-t", "all")


MachineStateOf = Callable[[str], str]


@dataclass(frozen=True)
class Everything:
    """What the pages of a cluster are made of, read at one moment."""

    jobs: tuple[JobSeen, ...]
    nodes: tuple[NodeSeen, ...]
    partitions: tuple[PartitionSeen, ...]


def _no_state(node: str) -> str:
    return ""


class Slurm:
    """`remember` names the cluster for which answers are compared with the last ones (see `slurm.memory`)."""

    def __init__(self, executor: Executor, *, remember: str = "") -> None:
        self.executor = executor
        self.memory = memory_of(remember)

    # Reading

    def ping(self) -> None:
        """Raises Unavailable unless a controller answers."""
        done = self.executor.run(["scontrol", "ping"], timeout_s=READ_S)
        if not controller_is_up(done.stdout):
            raise Unavailable(
                f"The Slurm controller is down. {own_words(decoded(done.stdout) + done.stderr)}",
                "See the cluster's parts.",
            )

    def everything(
        self, machine_of: Mapping[str, str] | None = None, machine_state_of: MachineStateOf = _no_state
    ) -> Everything:
        """Jobs, nodes and partitions in one exchange with the platform (nodes with free text need another)."""
        marks = fresh_marks()
        queue, nodes, partitions = self._ask_each(
            {"the queue": _queue(marks), "the nodes": NODES, "the partitions": PARTITIONS}
        )
        return Everything(
            self._jobs_in(queue, marks),
            self._nodes_in(nodes, machine_of or {}, machine_state_of),
            _partitions_in(partitions),
        )

    def nodes(
        self, machine_of: Mapping[str, str] | None = None, machine_state_of: MachineStateOf = _no_state
    ) -> tuple[NodeSeen, ...]:
        """Every node, with the machine and its state as the platform tells them by Slurm name."""
        return self._nodes_in(self._ask("read the nodes", NODES), machine_of or {}, machine_state_of)

    def _nodes_in(
        self, raw: bytes, machine_of: Mapping[str, str], machine_state_of: MachineStateOf
    ) -> tuple[NodeSeen, ...]:
        if has_free_lines(raw):
            raw = without_texts(raw, self._node_texts())
        return _read("the nodes", lambda: self.memory.decode_nodes(raw, machine_of, machine_state_of))

    def _node_texts(self) -> tuple[bytes, ...]:
        marks = fresh_marks()
        raw = self._ask(
            "read the nodes' comments", ["sinfo", "--local", "-h", "-a", "-O", texts_format(marks)]
        )
        return _read("the nodes' comments", lambda: decode_texts(raw, marks))

    def partitions(self) -> tuple[PartitionSeen, ...]:
        return _partitions_in(self._ask("read the partitions", PARTITIONS))

    def jobs(self) -> tuple[JobSeen, ...]:
        """The queue and what the controller still remembers of ended jobs (MinJobAge). Pending arrays are one
        row."""
        marks = fresh_marks()
        return self._jobs_in(self._ask("read the queue", _queue(marks)), marks)

    def _jobs_in(self, raw: bytes, marks: Marks) -> tuple[JobSeen, ...]:
        return _read("the queue", lambda: self.memory.decode_queue(raw, marks))

    def job(self, job_id: str) -> Mapping[str, str]:
        """One job's facts by label, in reading order. Raises Missing once the controller has forgotten it."""
        marks = fresh_marks()
        command = [*QUEUE, "-j", argument(job_id), "-O", detail_format(marks)]
        raw = self._ask(f"read job {job_id}", command)
        found = _read("the job", lambda: decode_details(raw, marks))
        if not found:
            raise Missing(f"Job {job_id} is not in the queue.", "The history may still have it.")
        # A number that is an array's gives all of its records; the one asked for comes first.
        return next((record for record in found if record["Job"] == job_id), found[0])

    def script(self, job_id: str) -> str:
        """The batch script as submitted. Raises Missing for jobs without one and forgotten jobs."""
        return decoded(
            self._ask(f"read the script of job {job_id}", ["scontrol", "write", "batch_script", job_id, "-"])
        )

    def history(self, since: datetime, numbers: Sequence[int] = (), *, user: str = "") -> tuple[JobSeen, ...]:
        """What accounting knows of the jobs that lived after `since` (only those numbers or that user's, if given).

        May be slow on a large database (20 s at most). Raises Unavailable where the cluster keeps no
        accounting.
        """
        mark = fresh_marks().field
        whose = ["-u", user] if user else ["-a"]
        command = ["sacct", *whose, "-X", "-D", "-n", "--noconvert", "-P", f"--delimiter={mark}"]
        command += ["-S", since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"), "-E", "now"]
        command += ["-o", ",".join(COLUMNS)]
        if numbers:
            command += ["-j", ",".join(str(number) for number in numbers)]
        raw = self._ask("read the job history", command, timeout_s=HISTORY_S)
        return _read("the job history", lambda: decode_history(raw, mark))

    def config(self) -> Mapping[str, str]:
        """The running configuration as the controller has it, not as the file says."""
        raw = self._ask("read the configuration", CONFIG)
        return _read("the configuration", lambda: decode_config(raw))

    def book(self, cluster: str) -> Book:
        """The accounting database, of the cluster of that name (ClusterName). Two exchanges with the platform where a
        list of resources or QOS is unusually long, else one. Raises Unavailable where there is none."""
        for asking in (Asking(cluster), Asking(cluster, is_wide=True)):
            answers = self._ask_each(asking.commands, timeout_s=BOOK_S)
            with suppress(CutOff):
                return _read("the accounts", partial(asking.book, answers))
        raise Unavailable("A list in the accounts is longer than the console reads.", "Look with sacctmgr.")

    def shares(self, user: str = "") -> tuple[Share, ...]:
        """Fair share and usage of every account, and of every user or that one."""
        command = [
            "sshare",
            "-n",
            "-m",
            *(["-u", user] if user else ["-a"]),
            "-o",
            columns_format(SHARE_COLUMNS),
        ]
        raw = self._ask("read the shares", command, timeout_s=BOOK_S)
        return _read("the shares", lambda: decode_shares(raw))

    def qos_minutes(self) -> Mapping[str, Mapping[str, int]]:
        """Used minutes of each QOS by resource, as the controller counts them: they fade, unless the QOS is NoDecay."""
        return decode_qos_minutes(
            self._ask("read the use of QOS", ["scontrol", "-o", "show", "assoc_mgr", "flags=qos"])
        )

    def user(self) -> str:
        """Who jobs belong to that the console submits. Not Slurm's answer but the system's (id(1))."""
        return decoded(self._ask("ask who submits", ["id", "-un"])).strip()

    def priorities(self) -> tuple[Priority, ...]:
        """Of waiting jobs. None are there where priorities are not made from factors."""
        marks = fresh_marks()
        raw = self._ask("read the priorities", ["sprio", "--local", "-h", "-o", priority_format(marks)])
        return _read("the priorities", lambda: decode_priorities(raw, marks))

    def dump_accounts(self, cluster: str) -> bytes:
        """The accounting database in sacctmgr's own format, for `sacctmgr load`."""
        command = ["sacctmgr", "dump", cluster, "file=/dev/stdout"]
        return self._ask("dump the accounts", command, timeout_s=BOOK_S)

    # Driving

    def submit(self, script: str | bytes, options: Sequence[str] = ()) -> int:
        """Submit a batch script (sent over stdin) with sbatch options; the job's number."""
        raw = script.encode() if isinstance(script, str) else script
        done = self._ask("submit the job", ["sbatch", "--parsable", *options], timeout_s=WRITE_S, stdin=raw)
        # "12" or "12;cluster" (sbatch(1), --parsable).
        number = decoded(done).strip().partition(";")[0]
        if not number.isdigit():
            raise Unavailable("sbatch printed no job number.", "Look into the queue before trying again.")
        return int(number)

    def cancel(self, job_ids: Sequence[str]) -> None:
        """Raises Missing or Conflict when there is nothing left to cancel. Jobs before the bad one are
        cancelled.

        scancel is silent about unknown jobs and returns 0 unless it is asked to speak.
        """
        done = self.executor.run(["scancel", "-v", *map(argument, job_ids)], timeout_s=WRITE_S)
        if done.code or "error:" in done.stderr:
            raise complaint(_errors_only(done.stderr), f"cancel {_list(job_ids)}")

    def hold(self, job_ids: Sequence[str]) -> None:
        """A *user* hold, so that the job's owner can release it from the command line too (scontrol(1),
        uhold)."""
        self._each("uhold", "hold", job_ids)

    def release(self, job_ids: Sequence[str]) -> None:
        self._each("release", "release", job_ids)

    def requeue(self, job_ids: Sequence[str]) -> None:
        self._each("requeue", "requeue", job_ids)

    def _each(self, verb: str, word: str, job_ids: Sequence[str]) -> None:
        ids = ",".join(map(argument, job_ids))
        self._ask(f"{word} {_list(job_ids)}", ["scontrol", verb, ids], timeout_s=WRITE_S)

    def drain(self, names: Sequence[str], reason: str) -> None:
        """No new jobs; running ones go on."""
        command = ["scontrol", "update", f"nodename={','.join(names)}", "state=drain", f"reason={reason}"]
        self._ask(f"drain {', '.join(names)}", command, timeout_s=WRITE_S)

    def resume(self, names: Sequence[str]) -> None:
        command = ["scontrol", "update", f"nodename={','.join(names)}", "state=resume"]
        self._ask(f"resume {', '.join(names)}", command, timeout_s=WRITE_S)

    def forget_node(self, name: str) -> None:
        """Delete the record of a dynamic node that is gone. No partition of the configuration may still name it: the
        next reconfigure would be fatal (26.05)."""
        self._ask(f"forget {name}", ["scontrol", "delete", f"nodename={name}"], timeout_s=WRITE_S)

    def close_partition(self, name: str) -> None:
        """No job starts in it and none can be submitted to it, until the configuration is read again."""
        command = ["scontrol", "update", f"partitionname={name}", "state=inactive"]
        self._ask(f"close partition {name}", command, timeout_s=WRITE_S)

    def reconfigure(self) -> None:
        """Ask the daemons to read their files again. Success says nothing: ping and read the configuration
        back."""
        self._ask("reconfigure Slurm", ["scontrol", "reconfigure"], timeout_s=WRITE_S)

    def _ask(
        self, doing: str, command: Sequence[str], *, timeout_s: float = READ_S, stdin: bytes = b""
    ) -> bytes:
        done = self.executor.run(command, timeout_s=timeout_s, stdin=stdin)
        if done.code:
            raise complaint(done.stderr, doing)
        return done.stdout

    def _ask_each(
        self, questions: Mapping[str, Sequence[str]], *, timeout_s: float = READ_S
    ) -> tuple[bytes, ...]:
        """What each printed, by what it reads. Raises for the first that failed."""
        answers = self.executor.run_each(tuple(questions.values()), timeout_s=timeout_s)
        for what, done in zip(questions, answers, strict=True):
            if done.code:
                raise complaint(done.stderr, f"read {what}")
        return tuple(done.stdout for done in answers)


def _queue(marks: Marks) -> tuple[str, ...]:
    return (*QUEUE, "-O", queue_format(marks))


def _partitions_in(raw: bytes) -> tuple[PartitionSeen, ...]:
    return _read("the partitions", lambda: decode_partitions(raw))


def _read(what: str, decode: Callable[[], T]) -> T:
    try:
        return decode()
    except Unreadable as unreadable:
        raise Unavailable(
            f"Slurm's answer about {what} could not be read: {unreadable}.",
            "If it stays so, this version of Slurm may print something new.",
        ) from unreadable


def _errors_only(stderr: str) -> str:
    return "\n".join(line for line in stderr.splitlines() if "error:" in line) or stderr


def _list(job_ids: Sequence[str]) -> str:
    return f"job {job_ids[0]}" if len(job_ids) == 1 else f"{len(job_ids)} jobs"
