"""Restarts on purpose: a service or all workers by a stamp in their pod template, one worker by deleting its pod.

Blocking for some requests, never until anything is up again. The operator renews workers politely: it drains each and
waits for its jobs. `kubectl rollout restart` would do nothing: the operator puts its own templates back.
"""

from datetime import UTC, datetime

from clusters.provisioner import Say
from console.errors import ConsoleError, Missing
from slurm.drains import RESTARTING, RESTARTS
from slurm.kube.kinds import ACCOUNTING, CONTROLLER, LOGIN_SET, NODE_SET, POD, REST_API, Kind
from slurm.provisioners.slinky.design import RESTARTED_AT
from slurm.provisioners.slinky.pods import name_of
from slurm.provisioners.slinky.reboots import Next, Reboot, reboots_in
from slurm.provisioners.slinky.scene import Scene
from slurm.provisioners.slinky.site import Site

SERVICES: dict[str, Kind] = {
    "accounting": ACCOUNTING,
    "controller": CONTROLLER,
    "rest": REST_API,
    "login": LOGIN_SET,
}


def restart_part(site: Site, part: str, say: Say, *, when_idle: bool) -> None:
    """Raises Missing for a part that the cluster has not."""
    scene = site.scene()
    if part in SERVICES:
        name = site.names.login if part == "login" else site.names.base
        _stamp(site, SERVICES[part], name)
        say(f"The operator restarts {part}.")
    elif part == "workers":
        _restart_workers(site, scene, say)
    else:
        _restart_worker(site, scene, part, say, when_idle=when_idle)


def _restart_workers(site: Site, scene: Scene, say: Say) -> None:
    if not scene.node_sets:
        raise Missing(f"{site.ref.name} has no workers to restart.")
    for node_set in scene.node_sets:
        _stamp(site, NODE_SET, name_of(node_set))
    say("The operator renews the workers, some at a time, each when its jobs have ended.")


def _stamp(site: Site, kind: Kind, name: str) -> None:
    """A later rendering keeps it (`restarts`). Of an Accounting only its own annotations reach the pod."""
    annotations = {"annotations": {RESTARTED_AT: datetime.now(UTC).isoformat(timespec="milliseconds")}}
    inside = {"metadata": annotations}
    change = inside if kind is ACCOUNTING else {"spec": {"template": inside}}
    site.kube.patch(kind, name, site.names.namespace, change)


def _restart_worker(site: Site, scene: Scene, node: str, say: Say, *, when_idle: bool) -> None:
    worker = next((worker for worker in scene.workers if worker.slurm == node), None)
    if worker is None:
        raise Missing(f"{site.ref.name} has no {node} to restart.")
    site.slurm.drain([node], RESTARTS if when_idle else RESTARTING)
    if when_idle:
        say(f"{node} takes no new jobs and restarts when those on it have ended.")
        return
    site.kube.delete(POD, worker.pod, site.names.namespace)
    say(f"{node} restarts: its pod is made anew, and it takes jobs again when it has registered.")


def has_reboots(site: Site, scene: Scene) -> bool:
    """Whether a restart was begun that is not over; a controller that cannot be asked has none."""
    try:
        return bool(reboots_in(site.slurm.nodes(), scene.worker_pods))
    except ConsoleError:
        return False


def continue_reboots(site: Site, scene: Scene) -> tuple[str, ...]:
    """The next step of each restart that was begun, sentences of what was done. Idempotent; with a controller that
    cannot be asked nothing is done, and the next look asks again."""
    try:
        found = reboots_in(site.slurm.nodes(), scene.worker_pods)
    except ConsoleError:
        return ()
    return tuple(said for reboot in found if (said := _continue(site, reboot)))


def _continue(site: Site, reboot: Reboot) -> str:
    if reboot.next is Next.DELETE:
        site.kube.delete(POD, reboot.pod, site.names.namespace)
        return f"{reboot.node} restarts: nothing runs on it any more."
    if reboot.next is Next.RESUME:
        site.slurm.resume([reboot.node])
        return f"{reboot.node} has restarted and takes jobs again."
    return ""
