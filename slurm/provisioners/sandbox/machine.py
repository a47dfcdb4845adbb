"""The files of one machine: what a daemon that stands for a node of its own sees where others see the room.

All of a cluster's daemons share one root (`room`). A worker and the login node each have their own `/tmp` and
`/dev/shm` in it, workers their own `/root` and `/home` too, and the team's volumes are there for these alone, at the
paths of their mounts. Runs in the child that the keeper forks, before it becomes the daemon; standard library only.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurm.provisioners.sandbox import linux

# Where the room holds what machines are made of. The daemons, jobs and logins in it do not see these places.
VOLUMES, MACHINES, MEMORY, CONTROL = "/run/volumes", "/run/machines", "/run/memory", "/run/keeper"
TREES = "/run/trees"
HIDDEN = (VOLUMES, MACHINES, MEMORY, CONTROL, TREES)


@dataclass(frozen=True)
class OwnPlace:
    """A directory that this machine has for itself at `path`; `source` is where it is kept, empty when it starts
    afresh."""

    source: str
    path: str
    mode: int


@dataclass(frozen=True)
class VolumePlace:
    """A volume at `path`."""

    source: str
    path: str
    read_only: bool = False


@dataclass(frozen=True)
class Machine:
    """What differs from the room, in this order. `usr` is where the programs of another image are, empty for the
    room's own."""

    own: tuple[OwnPlace, ...] = ()
    volumes: tuple[VolumePlace, ...] = ()
    usr: str = ""

    @property
    def mounted(self) -> list[list[object]]:
        """Its volumes, as `keeper.json` tells them."""
        return [[place.source, place.path, place.read_only] for place in self.volumes]


def machine_from(facts: dict[str, Any]) -> Machine:
    """From what `dataclasses.asdict` made of one."""
    own = tuple(OwnPlace(**place) for place in facts["own"])
    volumes = tuple(VolumePlace(**place) for place in facts["volumes"])
    return Machine(own, volumes, facts.get("usr", ""))


def enter_machine(machine: Machine) -> None:
    """Give this process mounts of its own: the machine's places, and nothing of what the room holds for others.

    Needs CAP_SYS_ADMIN over the room's mounts. Raises OSError saying which place could not be made.
    """
    linux.unshare(linux.CLONE_NEWNS)
    if machine.usr:
        show_programs(machine.usr)
    for place in machine.own:
        _make(Path(place.source), place.mode)
        linux.bind(place.source, _true_place(place.path), recursive=False)
    for volume in machine.volumes:
        where = _true_place(volume.path)
        linux.bind(volume.source, where, recursive=False)
        linux.restrict(where, read_only=volume.read_only)
    for hidden in HIDDEN:
        if os.path.ismount(hidden):
            linux.unmount(hidden)


def show_programs(source: str) -> None:
    """Another image's /usr in the place of this one's, to read only: the tree is shared by all clusters of it. `/bin`,
    `/lib` and the others are links into it in every image; /etc and /var stay the cluster's own."""
    linux.bind(source, "/usr", recursive=False)
    linux.make_read_only("/usr")


def _make(path: Path, mode: int) -> None:
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(mode)


def _true_place(path: str) -> str:
    """The directory at `path`, made where it is missing. Raises OSError where a link leads elsewhere: whoever has a
    shell in the cluster can put one there, and the volume would appear at another path than the one agreed on."""
    at = Path("/")
    for name in path.strip("/").split("/"):
        at = at / name
        if at.is_symlink():
            raise OSError(f"{at} is a link to {os.readlink(at)}; {path} has to be a directory")
        at.mkdir(exist_ok=True)
    return str(at)
