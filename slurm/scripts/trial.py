"""Trying a worker's script on one drained node before the cluster has it.

It runs there once, as slurmd would run it: as its user, with Slurm's variables and nothing else in its environment (no
search path either; slurm.conf(5), "Prolog and Epilog Scripts"), under a time limit. An operation: nothing of it stays
but what the script itself has done.
"""

import re
import time
from dataclasses import dataclass

from clusters.access import Door
from clusters.life_scripts import FIELD, Hook, as_typed, version_of
from clusters.models import Cluster, Node
from clusters.nodes import Health
from clusters.provisioner import Completed
from clusters.validate import validate
from console.errors import Conflict, Missing, Problem, Rejected, Unavailable
from console.roles import Action
from slurm.client import Slurm
from slurm.operations import perform
from slurm.outputs.text import decoded
from slurm.scripts import life as life_scripts

LIMIT_S = 60
MOST_OUTPUT = 16_000
TRIED = (Hook.WORKER_INIT, Hook.WORKER_PROLOG, Hook.WORKER_EPILOG)
CONTEXTS = {Hook.WORKER_PROLOG: "prolog_slurmd", Hook.WORKER_EPILOG: "epilog_slurmd"}
# Of `sh -c`: the most bytes of output, the limit in seconds, then the variables. The script comes by standard input and
# is a file while it runs, in a directory that nobody else of the node may put a link into, so that its first line says
# what runs it. Both of its streams are printed on the first; the second has its status,
# which would else be taken for that of a command that is not there.
RUN = """\
place=$(mktemp -d /tmp/.quarterdeck-XXXXXXXX) && file=$place/script && cat >"$file" && chmod 700 "$file" || exit 1
most=$1 limit=$2; shift 2
{
    /usr/bin/env -i "$@" /usr/bin/timeout --kill-after=2 "$limit" "$file" </dev/null 2>&1
    echo "$?" >"$place/status"
} | /usr/bin/head -c "$most"
cat "$place/status" >&2
rm -rf "$place"
"""
TIMED_OUT = (124, 137)
_STRANGE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True)
class Trial:
    """`code` is the exit status; `output` both of its streams, as far as MOST_OUTPUT bytes go."""

    node: str
    code: int
    output: str
    took_s: float
    version: str

    @property
    def is_good(self) -> bool:
        return self.code == 0

    @property
    def is_late(self) -> bool:
        return self.code in TIMED_OUT


def places(cluster: Cluster) -> list[Node]:
    """Nodes on which a script can be tried: drained, and empty, as last seen."""
    drained = cluster.nodes.filter(health=Health.DRAINING, cpus_allocated=0)
    return list(drained.order_by("group", "ordinal")[:100])


def try_script(door: Door, name: str, text: str, node: str) -> Trial:
    """Blocks for a minute at most. Raises Missing for no such hook or node, Rejected for what is no script, Conflict
    unless the node is drained and empty, Unavailable when it cannot be reached."""
    hook = life_scripts.script(door.cluster, name).hook
    if hook not in TRIED:
        raise Conflict(f"A {hook.replace('_', ' ')} cannot be tried.", "Only workers can be drained first.")
    text = _checked(door.cluster, hook, text)

    def act() -> Trial:
        _require_drained(door.cluster, node)
        began = time.monotonic()
        done = _run(door.cluster, hook, text, node)
        return Trial(node, _code(done, node), _shown(done.stdout), time.monotonic() - began, version_of(text))

    detail = {"script": hook.value, "version": version_of(text)}
    return perform(door, "script.try", [node], Action.CHANGE_CLUSTER, act, detail)


def _run(cluster: Cluster, hook: Hook, text: str, node: str) -> Completed:
    variables = [f"{key}={value}" for key, value in environment(cluster, hook, node).items()]
    argv = ["/bin/sh", "-c", RUN, "sh", str(MOST_OUTPUT), str(LIMIT_S), *variables]
    return cluster.provisioner.node_executor(node).run(argv, timeout_s=LIMIT_S + 5.0, stdin=text.encode())


def environment(cluster: Cluster, hook: Hook, node: str) -> dict[str, str]:
    """What slurmd gives a prolog or an epilog, of a job 0 of root; an init script only learns which node it is on."""
    known = {"SLURMD_NODENAME": node}
    if hook not in CONTEXTS:
        return known
    return {
        **known,
        "SLURM_CLUSTER_NAME": cluster.slug,
        "SLURM_JOB_ID": "0",
        "SLURM_JOBID": "0",
        "SLURM_JOB_UID": "0",
        "SLURM_UID": "0",
        "SLURM_JOB_GID": "0",
        "SLURM_JOB_USER": "root",
        "SLURM_JOB_PARTITION": "all",
        "SLURM_JOB_NODELIST": node,
        "SLURM_NODELIST": node,
        "SLURM_JOB_WORK_DIR": "/tmp",
        "SLURM_SCRIPT_CONTEXT": CONTEXTS[hook],
    }


def _checked(cluster: Cluster, hook: Hook, text: str) -> str:
    found = life_scripts.review(cluster, hook.value, text, base=None)
    blocking = tuple(problem for problem in validate(found.edit.after) if problem.path == f"{FIELD}.{hook}")
    text = as_typed(text)
    if not text:
        blocking = (Problem("text", "There is nothing to try.", "Write the script first."),)
    if blocking:
        raise Rejected("This is no script that can be tried.", blocking)
    return text


def _require_drained(cluster: Cluster, name: str) -> None:
    """As Slurm says now: a row may be some seconds old."""
    seen = next((n for n in Slurm(cluster.provisioner.executor()).nodes() if n.name == name), None)
    if seen is None:
        raise Missing(f"{cluster.slug} has no node {name[:64]}.", "The Nodes tab lists them all.")
    if "DRAIN" not in seen.state.flags or seen.cpus_allocated:
        raise Conflict(f"{name} takes jobs, or still runs some.", "Drain it and wait until it is empty.")


def _code(done: Completed, node: str) -> int:
    if done.code or not done.stderr.strip().isdigit():
        raise Unavailable(f"The script could not be run on {node}: {done.stderr.strip()[:200]}")
    return int(done.stderr)


def _shown(printed: bytes) -> str:
    return _STRANGE.sub("\ufffd", decoded(printed))
