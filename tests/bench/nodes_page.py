"""Server time and size of the nodes page and of the overview at 5,000 nodes beside 10,000 and 50,000 jobs."""

import statistics
import time
from collections.abc import Iterator

from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from console.roles import Role
from tests.bench.setting import NODES, Stage
from tests.slurm.job_rows import make_member

ROUNDS = 9
PAGES = (("nodes", ""), ("nodes", "?q=state:drain"), ("nodes", "?page=40"), ("cluster", ""))


def lines() -> Iterator[str]:
    for jobs in (10_000, 50_000):
        with transaction.atomic():
            stage = Stage(jobs)
            stage.look()
            connection.cursor().execute("ANALYZE slurm_job, clusters_node")
            client = Client()
            client.force_login(make_member(f"kim-{jobs}", Role.VIEWER, stage.cluster.team))
            for name, query in PAGES:
                url = reverse(name, args=(stage.cluster.team.slug, stage.cluster.slug)) + query
                milliseconds, kilobytes = measured(client, url)
                yield (
                    f"{name:<8} page {NODES:>6} nodes {jobs:>6} jobs  {query:<16}"
                    f" {milliseconds:6.1f} ms  {kilobytes:6.1f} kB"
                )
            transaction.set_rollback(True)


def measured(client: Client, url: str) -> tuple[float, float]:
    """Median milliseconds, and kB before compression."""
    times, size = [], 0
    for _ in range(ROUNDS):
        start = time.perf_counter()
        response = client.get(url)
        times.append(1000 * (time.perf_counter() - start))
        assert response.status_code == 200, response.status_code
        size = len(response.content)
    return statistics.median(times), size / 1000
