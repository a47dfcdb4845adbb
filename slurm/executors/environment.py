"""The environment of every Slurm command, wherever it runs.

Slurm's clients obey `SQUEUE_*`, `SINFO_*`, `SACCT_*`, `SBATCH_*` and `SLURM_TIME_FORMAT` even beside explicit
options, so nothing is inherited: a command sees these variables and what its adapter adds (`SLURM_CONF`).
"""

from collections.abc import Mapping

BASE: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "SLURM_TIME_FORMAT": "standard",
    # Without it squeue cuts long lists of array indices in the middle (squeue(1), SLURM_BITSTR_LEN).
    "SLURM_BITSTR_LEN": "0",
}


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a command; `extra` wins over the base."""
    return {**BASE, **extra}
