"""Write what the present stage of a change asks for. Blocking for some seconds; never waits for the cluster.

Every object is sent by server-side apply, which changes nothing where nothing differs; a kill in between is mended by
the next apply, which works the stage out anew. What was sent is kept in a ConfigMap, so that an edit by hand can be
shown later as the difference from it (`drift`).
"""

import secrets as randomness
import time
from collections.abc import Callable, Iterator
from functools import partial

from clusters.provisioner import Say
from clusters.spec import ClusterSpec
from console import secrets
from console.errors import Conflict, ConsoleError, Missing, Rejected
from slurm.drains import LEAVES
from slurm.kube.errors import Held
from slurm.kube.kinds import CONTROLLER, NAMESPACE, NODE_SET, POD, SECRET, Thing, kind_of
from slurm.leaving import jobs_on
from slurm.provisioners.slinky.conflicts import settle
from slurm.provisioners.slinky.drift import note_of
from slurm.provisioners.slinky.likeness import unlike
from slurm.provisioners.slinky.look import NUDGE, Look, must_nudge, must_renew_controller, nudge_of
from slurm.provisioners.slinky.names import TEAM_LABEL
from slurm.provisioners.slinky.pods import DELETION_COST, labels, name_of
from slurm.provisioners.slinky.region import DATABASE_PASSWORD, DatabaseKind
from slurm.provisioners.slinky.secrets import secret_objects
from slurm.provisioners.slinky.site import Site, look_at, round_of

# The admission webhook looks for ConfigMaps in a cache that may be a moment behind (slurm-operator 1.2).
WEBHOOK_LAG_S = 1.0


def apply_spec(site: Site, spec: ClusterSpec, say: Say, *, force: bool) -> None:
    """Raises Rejected (refused by the API, a webhook or another manager of a field) or Unavailable."""
    look = look_at(site, spec)
    now = round_of(site, look)
    wanted = now.things
    said = [*_write_objects(site, wanted), *now.kept, *_deeds(site, look, force=force)]
    for sentence in said:
        say(sentence)
    site.kube.apply(note_of(site.names, wanted), force=True)
    if not said:
        say("Every object is as it should be: nothing had to be written.")


def _write_objects(site: Site, wanted: tuple[Thing, ...]) -> Iterator[str]:
    """In the order of creation, with the Secrets right after the namespace."""
    for thing in wanted:
        if thing["kind"] == NAMESPACE.name:
            yield from _namespace(site, thing)
            yield from _secrets(site)
        elif sentence := _send(site, thing):
            yield sentence


def _namespace(site: Site, wanted: Thing) -> Iterator[str]:
    """One that is there and as it should be is not written: not every Role allows it."""
    found = site.kube.find(NAMESPACE, name_of(wanted))
    if found is not None:
        _require_own(site, found)
    if found is None or next(unlike(wanted, found), None):
        site.kube.apply(wanted)
    if found is None:
        yield f"Made the namespace {name_of(wanted)}."


def _require_own(site: Site, namespace: Thing) -> None:
    """Two regions on one API server may come to one name: `a` and team `b-c`, `a-b` and team `c`."""
    team = labels(namespace).get(TEAM_LABEL, site.ref.team)
    if team != site.ref.team:
        raise Rejected(
            f"The namespace {name_of(namespace)} belongs to the team {team}.",
            hint="Give one of the regions on this API server another namespace prefix.",
        )


def _secrets(site: Site) -> Iterator[str]:
    """Made once. One that is there is never written again: the cluster's nodes and its database live by it."""
    password = _database_password(site)
    wanted = secret_objects(site.names, site.settings, randomness.token_bytes, database_password=password)
    made = [name_of(thing) for thing in wanted if _create_once(site, thing)]
    if made:
        yield f"Made the keys {', '.join(made)}."


def _create_once(site: Site, thing: Thing) -> bool:
    if site.kube.find(SECRET, name_of(thing), site.names.namespace) is not None:
        return False
    try:
        site.kube.create(thing)
    except Conflict:
        return False  # another worker was first
    return True


def _database_password(site: Site) -> str:
    if site.settings.database.kind is DatabaseKind.OWN:
        return ""
    try:
        return secrets.get(f"region:{site.ref.region_slug}", DATABASE_PASSWORD).decode()
    except Missing as missing:
        raise Rejected(
            f"The region {site.ref.region_slug} has no password for its database.",
            hint="Set it on the region's page.",
        ) from missing


def _send(site: Site, thing: Thing) -> str:
    """A sentence when the object was not there or is not as it was."""
    kind, name = kind_of(thing), name_of(thing)
    before = site.kube.find(kind, name, site.names.namespace)
    paths = [path for path, _wanted, _found in unlike(thing, before)] if before else []
    after = _apply(site, thing)
    if before is None:
        return f"Made {kind.name} {name}."
    if after["metadata"].get("generation") == before["metadata"].get("generation") and not paths:
        return ""
    return f"Changed {kind.name} {name}{_named(paths)}."


def _apply(site: Site, thing: Thing) -> Thing:
    try:
        return site.kube.apply(thing)
    except Held as held:
        return settle(site.kube, thing, held)
    except Rejected:
        if thing["kind"] != CONTROLLER.name:
            raise
        time.sleep(WEBHOOK_LAG_S)
        return site.kube.apply(thing)


def _named(paths: list[str]) -> str:
    short = [path.removeprefix("spec.") for path in paths[:3]]
    return f": {', '.join(short)}{' and more' if len(paths) > 3 else ''}" if short else ""


def _deeds(site: Site, look: Look, *, force: bool) -> Iterator[str]:
    """What is no object of ours: marks on pods, Slurm's records and drains, a controller that hangs in its crash."""
    if look.stage.closing:
        site.slurm.drain(look.stage.closing, LEAVES)
        yield f"{', '.join(look.stage.closing)} takes no new jobs."
    if force and look.stage.going:
        yield from _end_jobs(site, look)
    yield from _costs(site, look)
    yield from _slurm_records(site, look)
    for group, size in look.stage.shrunk.items():
        site.kube.patch(
            NODE_SET, site.names.node_set(group), site.names.namespace, {"spec": {"replicas": size}}
        )
        yield f"The NodeSet of {group}, which is no longer wanted, lets its workers go."
    for group in look.stage.unneeded:
        site.kube.delete(NODE_SET, site.names.node_set(group), site.names.namespace)
        yield f"Deleted the NodeSet of {group}: it has no workers left."
    if must_nudge(look):
        mark = {"metadata": {"annotations": {NUDGE: nudge_of(look)}}}
        site.kube.patch(POD, site.names.controller_pod, site.names.namespace, mark)
        yield "The controller's pod is told to fetch its new slurm.conf."
    if must_renew_controller(look):
        site.kube.delete(POD, site.names.controller_pod, site.names.namespace)
        yield "The controller's pod is made anew with the present slurm.conf."


def _costs(site: Site, look: Look) -> Iterator[str]:
    """pod-deletion-cost makes the operator choose the workers that the change names."""
    for pod, cost in look.stage.costs.items():
        mark = {DELETION_COST: str(cost) if cost else None}
        try:
            site.kube.patch(POD, pod, site.names.namespace, {"metadata": {"annotations": mark}})
        except Missing:
            continue  # gone by itself
    if look.stage.costs and look.stage.going:
        yield f"{', '.join(look.stage.going)}: marked as the ones to go."


def _end_jobs(site: Site, look: Look) -> Iterator[str]:
    """The nodes are drained by now, so no new job starts there in between."""
    going = look.stage.going
    jobs = sorted({job.job_id for job in jobs_on(site.slurm.jobs(), going)})
    if jobs:
        site.slurm.cancel(jobs)
        yield f"Cancelled {', '.join(jobs)}, which ran on {', '.join(going)}."


def _slurm_records(site: Site, look: Look) -> Iterator[str]:
    """One by one: what Slurm does not allow yet, because a node is just coming or going, the next stage asks again."""
    for name in look.stage.freed:
        yield _tried(partial(site.slurm.resume, [name]), f"{name} takes jobs again.")
    for name in look.stage.forgotten:
        yield _tried(partial(site.slurm.forget_node, name), f"Slurm has forgotten {name}.")


def _tried(act: Callable[[], None], done: str) -> str:
    try:
        act()
    except ConsoleError as error:
        return f"Not yet: {error.message}"
    return done
