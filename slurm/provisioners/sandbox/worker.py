"""Commands on one worker: in its own files, under its host name, with no more rights than its slurmd has."""

from pathlib import Path

from clusters.provisioner import Executor
from console.errors import Unavailable
from slurm.executors.local import LocalExecutor
from slurm.provisioners.sandbox.apart import way_of
from slurm.provisioners.sandbox.daemon import KEPT_CAPABILITIES
from slurm.provisioners.sandbox.space import command_prefix, keeping


def worker_executor(home: Path, node: str) -> Executor:
    """Raises Unavailable while the node's slurmd does not run."""
    state = keeping(home)
    daemon = state.daemon(f"slurmd-{node}") if state else None
    if state is None or daemon is None or daemon.pid is None or daemon.state != "up":
        raise Unavailable(f"{node} is not up.", "See the cluster's parts.")
    # A prefix has no machines: every worker is this one.
    enter = ["nsenter", f"--target={daemon.pid}", "--mount", "--uts", "--"] if state.form != "prefix" else []
    return LocalExecutor([*command_prefix(home), *enter, *_bounded(home)])


def _bounded(home: Path) -> list[str]:
    """See KEPT_CAPABILITIES."""
    if not way_of(home).has_root:
        return []
    kept = ",".join(["-all", *(f"+cap_{number}" for number in sorted(KEPT_CAPABILITIES))])
    return ["setpriv", f"--bounding-set={kept}", "--"]
