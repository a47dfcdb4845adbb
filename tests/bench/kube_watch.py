"""A watcher over 20 clusters with 1,000 worker pods on a real API server: what it costs, how late it is.

`python -m tests.bench.kube_watch --pods 100 --clusters 4` measures a smaller region. CPU and numbers of requests do not
depend on how busy the machine is; the times do.
"""

import argparse
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from console.run.death import die_with_parent
from tests.bench import kube_stage as stage
from tests.bench.kube_cost import Cost, Watching
from tests.bench.kube_stage import Size
from tests.kube.rig.build import build
from tests.kube.rig.go import CannotBuild
from tests.kube.rig.rig import Rig
from tests.kube.rig.things import turned

WHOLE = Size()
SECONDS = 60.0
CHANGES = 20
CREATED = 5
LATE_S = 60.0
START_S = 900.0


def lines(size: Size = WHOLE, seconds: float = SECONDS) -> Iterator[str]:
    """Needs Django set up, a database with its tables that is thrown away afterwards, and Redis."""
    try:
        programs = build(lambda line: print(line, file=sys.stderr, flush=True))
    except CannotBuild as reason:
        yield f"kube watch  not measured: no Kubernetes API can be had here: {reason}"
        return
    with tempfile.TemporaryDirectory(prefix="quarterdeck-bench-kube-") as directory:
        root = Path(directory)
        with stage.standing(size, root / "rig", programs) as rig:
            region = stage.make_region(rig.api.kubeconfig)
            clusters = stage.make_clusters(size, region)
            stage.bring_up(rig, clusters, START_S)
            stage.give_answers(rig, root / "answers", clusters, size.workers)
            yield f"kube watch  {size.pods} worker pods, {size.clusters} clusters, {size.machines} machines"
            yield from _watched(rig, root, clusters, seconds)
            yield from _created(rig, root, region)


# What watching costs


def _watched(rig: Rig, root: Path, clusters: Sequence[Any], seconds: float) -> Iterator[str]:
    watching = Watching(root / "watcher.log")
    try:
        began = watching.cost()
        _until("every node has a row", lambda: _all_seen(clusters), START_S)
        first = watching.cost().since(began)
        yield _line("start to every row", f"{first.cpu_s:6.1f} CPU s; {_words(first.requests)}")
        calm = watching.over(seconds)
        yield from _cost_lines("nothing happens", calm, clusters)
        with _unready(rig, clusters):
            yield from _cost_lines("a worker of each not ready", watching.over(seconds), clusters)
        yield from _delays(rig, clusters)
        yield _line("memory", f"{watching.cost().peak_mib:6.0f} MiB peak")
    finally:
        watching.stop()


def _all_seen(clusters: Sequence[Any]) -> bool:
    from clusters.models import Node

    wanted = sum(len(cluster.revision.parsed.node_names) for cluster in clusters)
    return Node.objects.filter(machine_state="Ready").count() == wanted


def _cost_lines(what: str, cost: Cost, clusters: Sequence[Any]) -> Iterator[str]:
    """Beside it what the same looks would have asked without watches: by lists, and object by object."""
    by_lists, objects = _polling(clusters[0].provisioner.site)
    own = sum(n for verb, n in cost.requests.items() if verb != "create")
    yield _line(
        what, f"{cost.a_minute(cost.cpu_s):6.1f} CPU s a minute, {cost.a_minute(cost.looks):.0f} looks"
    )
    yield _line("  objects, requests a minute", f"{cost.a_minute(own):6.0f}: {_words(cost.requests, cost)}")
    polled, one_by_one = cost.a_minute(cost.looks * by_lists), cost.a_minute(cost.looks * objects)
    yield _line("  naive polling would be", f"{polled:6.0f} by lists, {one_by_one:.0f} object by object")
    yield _line("  commands in pods a minute", f"{cost.a_minute(cost.requests['create']):6.0f}")


def _polling(site: Any) -> tuple[int, int]:
    """Requests of one look at a cluster that reads the API itself, and how many objects it sees."""
    from slurm.provisioners.slinky.scene import with_machines

    before = site.kube.requests.total()
    scene = with_machines(site.scene(), site.kube)
    asked = site.kube.requests.total() - before
    ones = (scene.controller_set, scene.accounting_set, scene.database_set, scene.rest_deployment)
    others = (scene.login_deployment, scene.running_conf, scene.note)
    single = sum(thing is not None for thing in (*ones, *others))
    return asked, single + sum(map(len, (scene.resources, scene.pods, scene.events, scene.machines)))


def _words(requests: Counter[str], cost: Cost | None = None) -> str:
    shown = {verb: n for verb, n in sorted(requests.items()) if verb != "create"}
    return ", ".join(f"{cost.a_minute(n) if cost else n:.0f} {verb}" for verb, n in shown.items())


# How late it is


def _delays(rig: Rig, clusters: Sequence[Any]) -> Iterator[str]:
    """From the API's answer to a change of a pod to the row that shows it."""
    unready, gone = [], []
    for n in range(CHANGES // 2):
        cluster = clusters[n % len(clusters)]
        pod = _worker_pod(rig, cluster, n % 2)
        node = pod["metadata"]["labels"][stage.HOSTNAME]
        unready.append(_delay(partial(_set_ready, rig, pod, "False"), cluster, node))
        _delay(partial(_set_ready, rig, pod, "True"), cluster, node)
        gone.append(_delay(partial(rig.api.delete, _path(pod)), cluster, node))
    yield _line("a pod not ready, to its row", _times(unready))
    yield _line("a pod deleted, to its row", _times(gone))


def _delay(change: Callable[[], object], cluster: Any, node: str) -> float:
    before = _row(cluster, node)
    change()
    began = time.monotonic()
    _until(f"the row of {node} to change", lambda: _row(cluster, node) != before, LATE_S)
    return time.monotonic() - began


def _row(cluster: Any, node: str) -> object:
    """What the page shows of a node's pod."""
    from clusters.models import Cluster

    parts = Cluster.objects.values_list("parts", flat=True).get(pk=cluster.pk)
    state = cluster.nodes.values_list("machine_state", flat=True).get(name=node)
    return state, next((part for part in parts if part["name"] == node), None)


@contextmanager
def _unready(rig: Rig, clusters: Sequence[Any]) -> Iterator[None]:
    """One worker of each cluster is not ready, as where something is always being mended."""
    pods = [_worker_pod(rig, cluster, 0) for cluster in clusters]
    for pod in pods:
        _set_ready(rig, pod, "False")
    time.sleep(5)
    yield
    for pod in pods:
        _set_ready(rig, pod, "True")
    _until("all to be ready again", lambda: _all_seen(clusters), LATE_S)


def _worker_pod(rig: Rig, cluster: Any, ordinal: int) -> Any:
    names = cluster.provisioner.site.names
    return rig.api.get(f"/api/v1/namespaces/{names.namespace}/pods/{names.node_set('slinky')}-{ordinal}")


def _set_ready(rig: Rig, pod: Any, status: str) -> None:
    conditions = [turned(each, status, "Bench") for each in rig.api.get(_path(pod))["status"]["conditions"]]
    rig.api.merge(f"{_path(pod)}/status", {"status": {"conditions": conditions}})


def _path(pod: Any) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


# From asking for a cluster to its first step


def _created(rig: Rig, root: Path, region: Any) -> Iterator[str]:
    from console.models import Membership, Team, User
    from console.roles import Role

    team = Team.objects.order_by("pk").first()
    by = Membership.objects.create(team=team, user=User.objects.create(username="ada"), role=Role.OWNER)
    with _worker(root):
        _create(rig, region, by, START_S)  # this one waits for the worker's start
        found = [_create(rig, region, by) for _ in range(CREATED)]
    yield _line("create, to its first step", _times([step for step, _thing in found]))
    yield _line("create, to the first object", _times([thing for _step, thing in found]))


def _create(rig: Rig, region: Any, by: Any, within_s: float = LATE_S) -> tuple[float, float]:
    """Seconds to the worker's first sentence in the change's log, and to the cluster's first object in the API."""
    from clusters import changes

    spec = stage.spec_of(f"new-{secrets.token_hex(3)}", 1)
    began = time.monotonic()
    cluster = changes.create_cluster(by.team, region, spec, by=by)
    change, names = cluster.changes.get(), cluster.provisioner.site.names
    _until("the first step", lambda: change.lines.count() > 1, within_s)
    step = time.monotonic() - began
    keys = f"/api/v1/namespaces/{names.namespace}/secrets?fieldSelector=metadata.name%3D{names.slurm_key}"
    _until("the first object", lambda: bool(rig.api.get(keys)["items"]), LATE_S)
    return step, time.monotonic() - began


@contextmanager
def _worker(root: Path) -> Iterator[None]:
    """The console's worker, with a thread for each creation: they go on, as no Slurm answers in the new clusters."""
    celery = ["-m", "celery", "--app=console.celery", "worker", "--pool=threads"]
    celery += [f"--concurrency={CREATED + 1}"]
    quiet = ["--loglevel=warning", "--without-gossip", "--without-mingle"]
    with (root / "worker.log").open("ab") as log:
        command = [sys.executable, *celery, *quiet]
        process = subprocess.Popen(
            command,
            env=stage.environment(),
            stdout=log,
            stderr=log,
            preexec_fn=die_with_parent(signal.SIGKILL),
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()


# Words


def _until(what: str, is_so: Callable[[], bool], within_s: float) -> None:
    give_up = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > give_up:
            raise TimeoutError(f"{what}: not within {within_s:g} s")
        time.sleep(0.02)


def _times(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):6.2f} s median, {max(seconds):.2f} s at most, of {len(seconds)}"


def _line(what: str, figures: str) -> str:
    return f"kube watch  {what:<30} {figures}"


def main() -> int:
    from tests.bench.__main__ import start_services, thrown_away

    parser = argparse.ArgumentParser(prog="python -m tests.bench.kube_watch", description=__doc__)
    parser.add_argument("--pods", type=int, default=Size.pods)
    parser.add_argument("--clusters", type=int, default=Size.clusters)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long costs are counted")
    options = parser.parse_args()
    with ExitStack() as stack:
        start_services(stack)
        stack.enter_context(thrown_away())
        for line in lines(Size(options.pods, options.clusters), options.seconds):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
