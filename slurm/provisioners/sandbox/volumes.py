"""Volumes of the sandbox: directories below `settings.VAR_DIR`, one by each volume's key.

Their size is a number that nothing enforces. A dataset is a link to one of the directories that the operator laid
beside them in `datasets`, by its name.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from clusters.platform import RegionRef
from console.errors import Problem, Rejected, Unavailable
from slurm.provisioners.sandbox.likeness import volumes_home
from slurm.provisioners.sandbox.within import remove_tree, used_in
from storage.kinds import Kind, Phase
from storage.store import VolumeRef, VolumeSeen

DATASETS = "datasets"
SOURCE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}")


class SandboxVolumes:
    """On this machine, whichever region of it asks."""

    def __init__(self, region: RegionRef) -> None:
        self.region = region
        self.home = volumes_home()

    def keep(self, volume: VolumeRef) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        path = self.home / volume.key
        if volume.kind is Kind.DATASET:
            self._link(path, volume)
            return
        path.mkdir(exist_ok=True)
        # Everybody who works on the cluster may make directories in it; what they hold is their owners'.
        path.chmod(0o1777)

    def look(self, volumes: Sequence[VolumeRef]) -> Mapping[str, VolumeSeen]:
        used = used_in([self.home / volume.key for volume in volumes])
        return {volume.key: self._seen(volume, used[self.home / volume.key]) for volume in volumes}

    def remove(self, volume: VolumeRef) -> None:
        path = self.home / volume.key
        path.unlink() if path.is_symlink() else remove_tree(path)
        if path.exists():
            raise Unavailable(f"Not all files of {volume.name} could be deleted; some are in {path} yet.")

    def _seen(self, volume: VolumeRef, used: int | None) -> VolumeSeen:
        path = self.home / volume.key
        if not path.is_dir():
            return VolumeSeen(Phase.LOST, why=f"Its directory {volume.key} on this machine is gone.")
        return VolumeSeen(Phase.READY, used_bytes=used)

    def _link(self, path: Path, volume: VolumeRef) -> None:
        source = self.home / DATASETS / volume.source
        if not has_dataset(volume.source):
            why = f"This machine has no dataset {volume.source!r}: {source} is no directory."
            raise Rejected(why, (Problem("source", why),), "The operator of the region can put it there.")
        if not path.is_symlink():
            # Relative: in a cluster's room the volumes' directory is elsewhere.
            path.symlink_to(Path(DATASETS) / volume.source)


def has_dataset(name: str) -> bool:
    return bool(SOURCE.fullmatch(name)) and (volumes_home() / DATASETS / name).is_dir()


def lay_dataset(name: str, files: Mapping[str, str]) -> None:
    """Put a dataset of these files beside the volumes, for `source` to name."""
    home = volumes_home() / DATASETS / name
    home.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (home / file).write_text(text)
