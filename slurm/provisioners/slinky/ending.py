"""A cluster's end: everything stopped and what must be kept kept; then what is left removed. Blocking, idempotent.

Workers go first, because the operator ends jobs of workers whose RestApi is gone without draining them, and a NodeSet's
deletion drains nothing (slurm-operator 1.2). Kept by `terminate_cluster`: claims, the database, keys. The namespace is
the team's, and nobody's volumes are ever touched.
"""

import time
from collections.abc import Callable

from clusters.provisioner import Say
from console.errors import ConsoleError, Unavailable
from slurm.kube.kinds import (
    ACCOUNTING,
    CLAIM,
    CONFIG_MAP,
    CONTROLLER,
    LOGIN_SET,
    NODE_SET,
    POD,
    REST_API,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    Kind,
)
from slurm.provisioners.slinky.pods import WORKER, component_of, is_ready, name_of
from slurm.provisioners.slinky.region import DatabaseKind
from slurm.provisioners.slinky.scene import Scene
from slurm.provisioners.slinky.site import Site

POLITE_S, GONE_S, LOOK_AGAIN_S = 20.0, 30.0, 0.5
ENDED = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL")


def terminate_cluster(site: Site, say: Say) -> None:
    """Raises Unavailable when pods do not go in time; the next call goes on from there."""
    scene = site.scene()
    if not scene.is_there and scene.database_set is None:
        say(f"Nothing of {site.ref.name} runs.")
        return
    _end_jobs(site, scene, say)
    _remove_workers(site, scene, say)
    for kind, name in ((LOGIN_SET, site.names.login), (REST_API, site.names.base)):
        site.kube.delete(kind, name, site.names.namespace)
    for kind in (CONTROLLER, ACCOUNTING):
        site.kube.delete(kind, site.names.base, site.names.namespace)
    site.kube.delete(STATEFUL_SET, site.names.database, site.names.namespace)
    _wait_for(site, lambda scene: not scene.pods, GONE_S, "the cluster's pods to end")
    say("Every service has ended; volumes, keys and accounting are kept.")


def _end_jobs(site: Site, scene: Scene, say: Say) -> None:
    """No new ones, then none. A controller that does not answer has no say in it."""
    pod = scene.controller_pod
    if pod is None or not is_ready(pod):
        return
    try:
        for partition in site.slurm.partitions():
            site.slurm.close_partition(partition.name)
        jobs = [job.job_id for job in site.slurm.jobs() if job.state not in ENDED]
        if jobs:
            site.slurm.cancel(jobs)
            say(f"The partitions are closed and {len(jobs)} job{'s' if len(jobs) > 1 else ''} cancelled.")
    except ConsoleError as error:
        say(f"Jobs could not be cancelled first: {error.message}")


def _remove_workers(site: Site, scene: Scene, say: Say) -> None:
    """Politely by the operator where it still works; its NodeSets are deleted in the end in any case."""
    for node_set in scene.node_sets:
        site.kube.patch(NODE_SET, name_of(node_set), site.names.namespace, {"spec": {"replicas": 0}})
    try:
        _wait_for(site, _has_no_workers, POLITE_S, "the workers to go")
    except Unavailable:
        say("The operator does not let the workers go; they are removed with their NodeSets.")
    for node_set in scene.node_sets:
        site.kube.delete(NODE_SET, name_of(node_set), site.names.namespace)
    _wait_for(site, _has_no_workers, GONE_S, "the workers' pods to end")
    if scene.node_sets:
        say("The workers are gone.")


def _has_no_workers(scene: Scene) -> bool:
    return not any(component_of(pod) == WORKER for pod in scene.pods)


def _wait_for(site: Site, is_so: Callable[[Scene], bool], limit_s: float, what: str) -> None:
    give_up = time.monotonic() + limit_s
    while not is_so(site.scene()):
        if time.monotonic() > give_up:
            raise Unavailable(
                f"Waited {limit_s:g} s for {what}.", "It is tried again; see the pods of the namespace."
            )
        time.sleep(LOOK_AGAIN_S)


def destroy_cluster(site: Site, say: Say) -> None:
    """After `terminate_cluster`. The claims of its state and of its own database, its keys and ConfigMaps."""
    names = site.names
    claims = [f"statesave-{names.controller_pod}"]
    if site.settings.database.kind is DatabaseKind.OWN:
        claims.append(f"data-{names.database}-0")
    leftovers: list[tuple[Kind, str]] = [
        (POD, names.shadow_pod),
        (SERVICE, names.database),
        *((SECRET, name) for name in (names.slurm_key, names.jwt_key, names.database, names.sssd)),
        *(
            (CONFIG_MAP, name)
            for name in (names.slurm_files, names.ssh_authority, names.note, *names.scripts)
        ),
        *((CLAIM, name) for name in claims),
    ]
    gone = [kind for kind, name in leftovers if site.kube.delete(kind, name, names.namespace)]
    if gone:
        say("Its keys, its files and the volumes of its state are gone; the team's own volumes stay.")
    if site.settings.database.kind is DatabaseKind.EXISTING:
        say(f"Its records stay in the region's database as slurm_acct_{site.ref.key}.")
