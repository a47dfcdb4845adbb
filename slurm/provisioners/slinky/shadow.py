"""Let a real slurmctld read a candidate configuration in a short pod of its own, before the live controller does.

slurmctld has no option to test a file. The pod has the controller's image, no volume, no key and no token; what it runs
is a fixed script, and the candidate comes over standard input. The shadow has static records of the nodes, for
partitions would else name what it does not know, and no accounting: what only that could tell is no fault here.
It ends by itself: its processes after DEADLINE_S, its object with the next check or with the Controller.
"""

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from clusters.spec import ClusterSpec, NodeGroup
from console.errors import ConsoleError, Problem, Unavailable
from slurm.kube.kinds import CONTROLLER, NAMESPACE, POD, Thing
from slurm.outputs.text import decoded
from slurm.provisioners.slinky import conf
from slurm.provisioners.slinky.crash import CONTAINER, Ended
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.names import MANAGED_BY, MANAGER, Names
from slurm.provisioners.slinky.pods import is_ready, machine_of, name_of, trouble_of
from slurm.provisioners.slinky.site import Site
from slurm.refusals import problems_in
from slurm.render import RenderedConf, in_user_part
from slurm.unread import unread

SHADOW_LABEL = "quarterdeck.dev/shadow"
DEADLINE_S = 60
START_S, RUN_S, LOOK_AGAIN_S = 6.0, 6.0, 0.1
SHADOW_S = 4
SLURM_UID = 401
# Prints `ready` or not, the exit status and the log. Nothing of the candidate is ever read by the shell; its length is
# told, because not every kubelet lets the end of standard input through.
SCRIPT = """\
set -u
d=$(mktemp -d) || exit 9
trap 'rm -rf "$d"' EXIT
mkdir "$d/state"
head -c 256 /dev/urandom >"$d/slurm.key" && chmod 600 "$d/slurm.key"
head -c "$1" | sed "s|@DIR@|$d|g; s|@HOST@|$(hostname)|g; s|@USER@|$(id -un)|g" >"$d/slurm.conf"
export SLURM_CONF="$d/slurm.conf"
timeout -k 1 4 slurmctld -D -f "$SLURM_CONF" >"$d/log" 2>&1 &
pid=$!
while kill -0 "$pid" 2>/dev/null; do
    if scontrol ping 2>/dev/null | grep -q "is UP"; then
        echo ready
        kill "$pid"
        break
    fi
    sleep 0.1
done
wait "$pid"
echo "code $?"
cat "$d/log"
"""
HEAD = """\
ClusterName=shadow
SlurmctldHost=@HOST@(127.0.0.1)
SlurmctldPort=16817
SlurmUser=@USER@
AuthType=auth/slurm
AuthInfo=use_client_ids
CredType=cred/slurm
StateSaveLocation=@DIR@/state
SlurmdSpoolDir=@DIR@/spool
SlurmctldPidFile=@DIR@/slurmctld.pid
"""
# What a controller only knows from its accounting; without it slurmctld ends with these words.
_NEEDS_ACCOUNTING = ("tres", "qos", "slurmdbd", "accounting_storage", "database", "association")
# What timeout(1) ends with.
_TOO_SLOW = ("124", "137")


@dataclass(frozen=True)
class Candidate:
    """The shadow's file, and the real one with the lines that are the user's; the former has `ahead` more lines."""

    text: str
    conf: RenderedConf
    ahead: int


def candidate_of(spec: ClusterSpec) -> Candidate:
    """Pure. Accounting's line is taken out where it stands, so that lines keep their order."""
    rendered = conf.rendered(spec)
    body = rendered.text.replace("\nAccountingStorageTRES=", "\n# AccountingStorageTRES=")
    head = HEAD + "".join(f"{line}\n" for group in spec.groups for line in _group_lines(group))
    return Candidate(head + body, rendered, head.count("\n"))


def _group_lines(group: NodeGroup) -> Iterator[str]:
    yield f"NodeSet={group.name} Feature={group.name}"
    shape = group.shape
    kind = f"{shape.gpu_model.lower()}:" if shape.gpu_model else ""
    gpus = f" Gres=gpu:{kind}{shape.gpus}" if shape.gpus else ""
    for name in group.node_names:
        yield (
            f"NodeName={name} NodeAddr=127.0.0.1 CPUs={shape.cpus} RealMemory={shape.memory_mib}{gpus} "
            f"Feature={group.name} State=UNKNOWN"
        )


def problems_of(output: str, candidate: Candidate) -> tuple[Problem, ...]:
    """What the shadow said, at the user's lines. Pure."""
    first, *lines = output.splitlines() or [""]
    is_ready_now = first == "ready"
    ended = _ended(lines if is_ready_now else [first, *lines], is_ready_now)
    found = problems_in(ended, candidate.text, path="slurm_conf", daemon="slurmctld")
    return tuple(dict.fromkeys(_placed(problem, candidate) for problem in found))


def whole(output: str, complaint: str = "") -> str:
    """As it is. Raises Unavailable for that of a check which did not come to its end (`complaint` may say why), or
    whose slurmctld was neither up in time nor had a complaint: nothing is known of the file then. Pure.
    """
    codes = [line.removeprefix("code ") for line in output.splitlines() if line.startswith("code ")]
    if not codes:
        last = complaint.strip().rpartition("\n")[2][-200:]
        raise Unavailable(f"its pod did not carry the check to its end{f': {last}' if last else ''}")
    if codes[0] in _TOO_SLOW and "error:" not in output and "fatal:" not in output:
        raise Unavailable(f"it was not up within {SHADOW_S} s")
    return output


def _ended(lines: list[str], was_ready: bool) -> Ended:
    code = next((line.removeprefix("code ") for line in lines if line.startswith("code ")), "")
    status = 0 if was_ready else int(code) if code.isdigit() and code != "0" else None
    return Ended(status, tuple(line for line in lines if not line.startswith("code ")))


def _placed(problem: Problem, candidate: Candidate) -> Problem:
    """At its line of the user's block. What only accounting could tell does not block."""
    is_open = any(word in problem.message.lower() for word in _NEEDS_ACCOUNTING)
    line = problem.line - candidate.ahead if problem.line and problem.line > candidate.ahead else None
    found = in_user_part(replace(problem, line=line), candidate.conf)
    return (
        replace(found, blocking=False, hint="A shadow has no accounting to look this up in.")
        if is_open
        else found
    )


def shadow_check(site: Site, spec: ClusterSpec) -> tuple[Problem, ...]:
    """About 1.5 s where the image is at hand, 12 s at most.

    Never raises Unavailable: a file that no shadow could read is let through with a note that says why.
    """
    if not site.settings.shadow_pods:
        return (unread("this region is set up without shadow pods"),)
    candidate = candidate_of(spec)
    try:
        if site.kube.find(NAMESPACE, site.names.namespace) is None:
            return (unread("the team has no namespace in this region yet"),)
        if not site.kube.may("create", "pods", namespace=site.names.namespace):
            return (unread("the region's Role does not allow the console to create pods"),)
        return problems_of(_ask_shadow(site, spec, candidate), candidate)
    except ConsoleError as error:
        return (unread(error.message.rstrip(".")),)


def _ask_shadow(site: Site, spec: ClusterSpec, candidate: Candidate) -> str:
    _sweep(site)
    pod = _make_pod(site, spec)
    give_up = time.monotonic() + START_S
    try:
        _await(site, pod, give_up)
        return _run(site, pod, candidate, give_up)
    finally:
        site.kube.delete(POD, pod, site.names.namespace, grace_s=0)


def _run(site: Site, pod: str, candidate: Candidate, give_up: float) -> str:
    """A container that was only just started may not take a command yet."""
    space, text = site.names.namespace, candidate.text.encode()
    argv = ["sh", "-c", SCRIPT, "sh", str(len(text))]
    while True:
        try:
            done = site.kube.run(space, pod, CONTAINER, argv, timeout_s=RUN_S, stdin=text)
            return whole(decoded(done.stdout), done.stderr)
        except Unavailable:
            if time.monotonic() > give_up:
                raise
            time.sleep(LOOK_AGAIN_S)


def _sweep(site: Site) -> None:
    """Pods of checks that were killed; those of other checks that still run are left alone."""
    for pod in site.kube.list(POD, site.names.namespace, labels=f"{SHADOW_LABEL}={site.names.key}").items:
        if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            site.kube.delete(POD, name_of(pod), site.names.namespace, grace_s=0)


def _make_pod(site: Site, spec: ClusterSpec) -> str:
    """Beside the live controller, where its image is; wherever the scheduler likes while there is none."""
    controller = site.kube.find(CONTROLLER, site.names.base, site.names.namespace)
    running = site.kube.find(POD, site.names.controller_pod, site.names.namespace)
    design = Design(spec, site.names, site.ref, site.settings)
    name = f"{site.names.shadow_pod}-{secrets.token_hex(3)}"
    thing = shadow_pod(
        site.names, name, design.image(CONTAINER), controller, machine_of(running) if running else ""
    )
    site.kube.create(thing)
    return name


def shadow_pod(names: Names, name: str, image: str, owner: Thing | None, machine: str) -> Thing:
    """Pure."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": names.namespace,
        "labels": {MANAGED_BY: MANAGER, SHADOW_LABEL: names.key},
    }
    if owner is not None:
        metadata["ownerReferences"] = [
            {key: owner[key] for key in ("apiVersion", "kind")}
            | {"name": name_of(owner), "uid": owner["metadata"]["uid"]}
        ]
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": DEADLINE_S,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": SLURM_UID, "runAsGroup": SLURM_UID},
        "containers": [_container(image)],
    }
    return {
        "apiVersion": POD.api_version,
        "kind": POD.name,
        "metadata": metadata,
        "spec": {**spec, **({"nodeName": machine} if machine else {})},
    }


def _container(image: str) -> dict[str, Any]:
    return {
        "name": CONTAINER,
        "image": image,
        "command": ["sleep", str(DEADLINE_S)],
        "resources": {
            "limits": {"cpu": "1", "memory": "512Mi"},
            "requests": {"cpu": "50m", "memory": "64Mi"},
        },
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _await(site: Site, name: str, give_up: float) -> None:
    while (pod := site.kube.get(POD, name, site.names.namespace)) and not is_ready(pod):
        if time.monotonic() > give_up:
            why = trouble_of(pod)
            raise Unavailable(f"its pod did not start within {START_S:g} s{f': {why}' if why else ''}")
        time.sleep(LOOK_AGAIN_S)
