"""Commands that `pods/exec` finds first in kwok's PATH: each runs its namesake in the room of the pod's cluster.

kwok's Exec object of a pod names a file with the way into the room (`room.Room.enter`); a pod without one runs the
command on this machine, as without a shim.
"""

from pathlib import Path

from tests.kube.double.kubelet import ENTER

SHIM = f"""\
#!/bin/sh
# Runs the command of this file's name in the room of a pod's cluster.
name=${{0##*/}}
if [ -z "${ENTER}" ]; then PATH=${{PATH#*:}}; exec "$name" "$@"; fi
[ -r "${ENTER}" ] || {{ echo "container is not running" >&2; exit 126; }}
# These are kwok's own; a room has no such places.
unset TMPDIR TMP TEMP
. "${ENTER}"
"""
COMMANDS = """
env sh bash cat ls test stat head tail grep sed awk find readlink sha256sum md5sum date id whoami hostname getent
true false printf echo tee cp mv rm mkdir ln chmod touch sleep timeout ps kill nohup setsid dd tar base64 mktemp
scontrol sinfo squeue sacct sacctmgr sbatch scancel srun salloc sattach sdiag sprio sshare sstat sreport strigger
slurmctld slurmd slurmdbd munge unmunge su runuser setpriv
"""


def write_shims(folder: Path) -> None:
    """One file with many names. Idempotent; harmless while kwok runs."""
    folder.mkdir(parents=True, exist_ok=True)
    shim = folder / ".shim"
    shim.write_text(SHIM)
    shim.chmod(0o755)
    for name in COMMANDS.split():
        link = folder / name
        if not link.is_symlink():
            link.unlink(missing_ok=True)
            link.symlink_to(shim.name)
