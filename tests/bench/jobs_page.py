"""Server time and size of the jobs page at 10,000 and 50,000 jobs.

A generated answer of squeue goes through the real decoder and the real recorder into the real database; the page is
then asked for as a browser would, signed in, through every middleware.
"""

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

LENGTHS = (10_000, 50_000)
ROUNDS = 9
# One moment for all rows of a run: a generated queue is the same at every look.
EPOCH = datetime.now(UTC).replace(microsecond=0)
MOST_MS = 100.0
MOST_KB = 100.0
PAGES = (
    ("the queue", ""),
    ("running", "?q=state:running"),
    ("sorted by GPUs", "?sort=-gpus"),
    ("user and GPUs", "?q=user:lin+gpus:>4"),
    ("a node, ended too", "?q=node:slinky-200+state:any"),
    ("text, ended too", "?q=train-70b+state:any"),
    ("page 90", "?q=state:any&page=90"),
    ("live refresh", "live"),
)


@dataclass(frozen=True)
class Line:
    """One measured page. `ms` is the median; `cpu_ms` this process's own share, which a busy machine does not change
    much; `kb` is 1000 bytes, before compression."""

    jobs: int
    page: str
    ms: float
    worst_ms: float
    cpu_ms: float
    kb: float

    @property
    def good(self) -> bool:
        return self.ms < MOST_MS and self.kb < MOST_KB

    def __str__(self) -> str:
        verdict = "" if self.good else "   ABOVE THE TARGET"
        times = f"{self.ms:6.1f} ms (worst {self.worst_ms:6.1f}, own CPU {self.cpu_ms:4.1f})"
        return f"jobs page  {self.jobs:>6} jobs  {self.page:<18} {times}  {self.kb:5.1f} kB{verdict}"


def lines(lengths: Sequence[int] = LENGTHS) -> Iterator[Line]:
    """Measures inside a transaction that is rolled back. Needs Django set up and a database with its tables."""
    from django.db import connection, transaction

    for length in lengths:
        with transaction.atomic():
            path, client = _filled(length)
            connection.cursor().execute("ANALYZE slurm_job")
            for name, query in PAGES:
                yield _measured(client, path, query, length, name)
            transaction.set_rollback(True)


def _measured(client: object, path: str, query: str, length: int, name: str) -> Line:
    headers = {"X-Live": "1"} if query == "live" else {}
    url = path if query == "live" else path + query
    times, own, size = [], [], 0
    for _ in range(ROUNDS):
        start, spent = time.perf_counter(), time.process_time()
        response = client.get(url, headers=headers)  # type: ignore[attr-defined]
        times.append(1000 * (time.perf_counter() - start))
        own.append(1000 * (time.process_time() - spent))
        assert response.status_code == 200, response.status_code
        size = len(response.content)
    return Line(length, name, statistics.median(times), max(times), statistics.median(own), size / 1000)


def _filled(length: int) -> tuple[str, object]:
    """A cluster with `length` jobs, of which four in ten have ended, and a member who is signed in."""
    from django.test import Client
    from django.urls import reverse

    from clusters.observation import Observation
    from console.roles import Role
    from slurm.outputs.queue import decode_queue
    from slurm.outputs.text import Marks
    from slurm.watch import record
    from tests.slurm.job_rows import make_cluster, make_member

    cluster = make_cluster()
    marks = Marks("<fieldfld>", "<recordrc>")
    seen = decode_queue(queue_answer(length, marks.field, marks.record), marks)
    record(cluster, Observation(taken_at=datetime.now(UTC), jobs=seen, nodes=(), partitions=()))
    client = Client()
    client.force_login(make_member("ada", Role.MEMBER, cluster.team))
    return reverse("jobs", args=(cluster.team.slug, cluster.slug)), client


def queue_answer(
    length: int, field: str, record: str, seed: int = 7, priorities: Mapping[str, str] | None = None
) -> bytes:
    """What `squeue -O` prints for a queue of that length, fields in the order of `slurm.outputs.queue.FIELDS`.

    `priorities` replace those of some jobs, by number.
    """
    draw = random.Random(seed)
    now = EPOCH
    edited = priorities or {}
    rows = (_answer_row(1000 + index, draw, now, edited.get(str(1000 + index))) for index in range(length))
    return "".join(f"{field.join(row)}{record}\n" for row in rows).encode()


def _answer_row(number: int, draw: random.Random, now: datetime, priority: str | None = None) -> list[str]:
    from slurm.outputs.queue import FIELDS
    from tests.slurm.job_rows import ENDS, NAMES, PARTITIONS, USERS

    state = draw.choices(("RUNNING", "PENDING", draw.choice(ENDS)), (3, 57, 40))[0]
    start = now - timedelta(seconds=draw.randrange(3600, 90_000))
    node = draw.randrange(5000)
    gpus, nodes = draw.choice((0, 1, 2, 4, 8)), draw.choice((1, 1, 2, 4))
    waits = state == "PENDING"
    end = start + timedelta(seconds=draw.randrange(60, 3600))
    values = {
        "JobArrayID": str(number),
        "SubmitTime": _time(start - timedelta(seconds=draw.randrange(9000))),
        "Name": f"{draw.choice(NAMES)}-{draw.randrange(900)}",
        "UserName": draw.choice(USERS),
        "Account": "vision",
        "Partition": draw.choice(PARTITIONS),
        "State": state,
        "Reason": draw.choice(("Resources", "Priority", "Dependency", "JobHeldUser")) if waits else "None",
        "PriorityLong": priority or str(draw.randrange(1, 100_000)),
        "NodeList": "" if waits else f"slinky-[{node}-{node + nodes - 1}]" if nodes > 1 else f"slinky-{node}",
        "NumNodes": str(nodes),
        "NumCPUs": str(draw.choice((1, 8, 64))),
        "tres-alloc": f"cpu=8,mem=64G,node={nodes},billing=8,gres/gpu={gpus}",
        "TimeLimit": draw.choice(("10:00", "1:00:00", "1-00:00:00", "7-00:00:00")),
        "StartTime": "N/A" if waits else _time(start),
        "EndTime": "N/A" if waits else _time(end),
        "QOS": "normal",
        "Dependency": "afterok:999(unfulfilled)" if waits and draw.random() < 0.1 else "(null)",
        "WorkDir": f"/home/{draw.choice(USERS)}/runs",
        "exit_code": "0:0",
    }
    return [values.get(name, "N/A") for name in FIELDS]


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S")
