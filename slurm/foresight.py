"""What Slurm does at the acts that a platform carries out: what adapters share of `Provisioner.foresee`. Pure."""

from clusters.acts import Does, Edit, Fate, PartKind, Touch
from clusters.life_scripts import OF_JOBS, file_of
from clusters.spec import ClusterSpec
from slurm.conf import parse
from slurm.effects import line_diff, total_cost
from slurm.parameters import Cost


def fate_with_node(spec: ClusterSpec) -> Fate:
    """What becomes of a batch job whose node fails under it: it is queued again unless it or slurm.conf says otherwise
    (slurm.conf(5): JobRequeue is 1 where the file is silent)."""
    return Fate.ENDS if parse(spec.slurm_conf).get("JobRequeue") == "0" else Fate.QUEUED


def conf_differs(edit: Edit) -> bool:
    """Whether slurm.conf will read otherwise."""
    before, after = (_read(spec) for spec in (edit.before, edit.after))
    return before != after


def _read(spec: ClusterSpec) -> tuple[object, ...]:
    """What of a spec slurm.conf is made of."""
    scripts = [file_of(spec.scripts, hook) for hook in OF_JOBS]
    return spec.groups, spec.region_partitions, spec.partitions, spec.slurm_conf, scripts


def needs_restart(edit: Edit) -> bool:
    """Whether the user's own settings changed in a way that daemons take in only as they start."""
    lines = line_diff(edit.before.slurm_conf, edit.after.slurm_conf, version=edit.after.slurm_version)
    return total_cost(lines) is Cost.RESTART


def everything_stops(
    spec: ClusterSpec, *, worker_loses: tuple[str, ...], login_loses: tuple[str, ...]
) -> tuple[Touch, ...]:
    """The end of a cluster, in the order in which its parts end."""
    return (
        Touch(PartKind.LOGIN, Does.STOPS, loses=login_loses),
        Touch(PartKind.WORKERS, Does.STOPS, spec.node_names, Fate.ENDS, worker_loses),
        Touch(PartKind.CONTROLLER, Does.STOPS),
        Touch(PartKind.ACCOUNTING, Does.STOPS),
    )
