"""What stands at the paths of mounts in a running cluster: whoever has a shell there can make links."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from clusters.spec import Mount
from console.errors import Problem
from slurm.provisioners.sandbox.space import keeping, run_inside


def links_in_the_way(home: Path, mounts: Sequence[Mount]) -> tuple[Problem, ...]:
    """Links and files where a mount needs a directory; nothing while the cluster does not run or has no root of its
    own. `enter_machine` refuses them again, later."""
    state = keeping(home)
    if not mounts or state is None or state.form == "prefix":
        return ()
    found = _not_directories(home, {str(path) for mount in mounts for path in _way(mount)})
    return tuple(
        Problem(
            f"mounts[{index}].path",
            f"{wrong} is a link or a file on this cluster; {mount.path} has to lead through directories.",
            "Remove it on the login node, or choose another path.",
        )
        for index, mount in enumerate(mounts)
        if (wrong := next((str(path) for path in _way(mount) if str(path) in found), ""))
    )


def _way(mount: Mount) -> list[PurePosixPath]:
    """`/data` and `/data/sets` of `/data/sets`."""
    path = PurePosixPath(mount.path)
    return [*reversed(path.parents[:-1]), path]


def _not_directories(home: Path, paths: set[str]) -> set[str]:
    """In the room's files, which all its machines start from."""
    argv = ["find", *sorted(paths), "-maxdepth", "0", "!", "-type", "d", "-print"]
    return set(run_inside(home, argv).stdout.splitlines())
