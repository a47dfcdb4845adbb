"""What the keeper of a cluster is told to run: keeper/daemons.json. It looks when it gets SIGHUP."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.daemon import Spec, specs_from, specs_text
from slurm.provisioners.sandbox.daemons import specs_of
from slurm.provisioners.sandbox.files import replace_file


def write_daemons(cluster: SandboxCluster, only: Collection[str] = ()) -> None:
    """All of the cluster's daemons. `only` keeps others of them out."""
    _write(cluster.home, (spec for spec in specs_of(cluster) if not only or spec.name in only))


def start_afresh(home: Path, name: str, epoch: int) -> None:
    """This one starts afresh; every other stays what it is, whatever is about to be applied."""
    told = specs_from(_path(home).read_text())
    _write(home, (replace(spec, epoch=epoch) if spec.name == name else spec for spec in told))


def kept_nodes(home: Path) -> list[str]:
    """The nodes whose slurmd the keeper was last told to run."""
    try:
        names = [spec.name for spec in specs_from(_path(home).read_text())]
    except FileNotFoundError:
        return []
    return [name.removeprefix("slurmd-") for name in names if name.startswith("slurmd-")]


def _write(home: Path, specs: Iterable[Spec]) -> None:
    replace_file(_path(home), specs_text(list(specs)))
    _path(home).chmod(0o600)


def _path(home: Path) -> Path:
    return home / "keeper/daemons.json"
