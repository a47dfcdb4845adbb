"""What the controller runs with, and how that differs from what was written. Pure; `hearing` asks the controller.

slurm.conf in the controller's pod is a projected volume: it follows the ConfigMap within a minute or two, and only then
the operator's sidecar has slurmctld read it (slurm-operator 1.2, `inplaceReconfigure`). `scontrol` compares the hash
of the file beside it with that of the file that slurmctld has read (HASH_VAL; scontrol(1), show config).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusters.hostlist import HostlistError, expand
from clusters.observation import JobSeen, NodeSeen, PartitionSeen
from slurm.conf import Line, parse
from slurm.readback import unlike
from slurm.render import BEGIN

NOT_THERE = "The new slurm.conf has not reached the controller's pod yet, which takes up to two minutes."


@dataclass(frozen=True)
class Running:
    """`conf` is the file as it is in the controller's pod, `config` what slurmctld says that it runs with."""

    conf: str
    config: Mapping[str, str]
    nodes: tuple[NodeSeen, ...]
    partitions: tuple[PartitionSeen, ...]
    jobs: tuple[JobSeen, ...]

    @property
    def has_read_its_file(self) -> bool:
        """A controller that prints no hash (DebugFlags=NO_CONF_HASH) is believed."""
        return self.config.get("HASH_VAL", "Match").startswith("Match")


@dataclass(frozen=True)
class Silence:
    """Why the controller could not be asked, in words. `conf` is the file in its pod, where that could be read, and
    `fatal` what Slurm's own commands end with when they read it: they would not get as far as the controller."""

    why: str
    conf: str = ""
    fatal: tuple[str, ...] = ()


def our_block(text: str) -> str:
    """What of a slurm.conf is the user's and the partitions': everything from our marker on."""
    at = text.find(BEGIN)
    return text[at:].strip() if at >= 0 else ""


def named_nodes(heard: Running | Silence, written: str) -> frozenset[str] | None:
    """The nodes that partitions name one by one, None unless the controller is known to run with what was `written`."""
    if isinstance(heard, Silence) or not is_in_force(heard, written):
        return None
    return hosts_in(written)


def hosts_in(conf: str) -> frozenset[str]:
    """The nodes that its partitions name one by one."""
    return frozenset(name for line in parse(conf).entities("PartitionName") for name in _hosts(line))


def is_in_force(running: Running, written: str) -> bool:
    return next(unlike_written(running, written), None) is None


def unlike_written(running: Running, written: str) -> Iterator[str]:
    """Sentences: how the running controller differs from the `extraConf` that was written.

    Of a partition only its being there is looked at: what `scontrol update` made of it since is no fault of a file.
    """
    if our_block(running.conf) != our_block(written):
        yield NOT_THERE
        return
    if not running.has_read_its_file:
        yield "The controller has not read its new slurm.conf yet."
    yield from (f"{sentence}." for sentence in unlike(our_block(written), running.config))
    seen = {partition.name for partition in running.partitions}
    for line in parse(written).entities("PartitionName"):
        if line.fields[0].value not in seen:
            yield f"The controller has no partition {line.fields[0].value} yet."


def _hosts(line: Line) -> tuple[str, ...]:
    """The nodes that a line names one by one; `ALL` and the names of Slurm NodeSets are none."""
    found = _expanded(line.get("Nodes") or "")
    return tuple(name for name in found if name.rpartition("-")[2].isdigit())


def _expanded(nodes: str) -> tuple[str, ...]:
    try:
        return expand(nodes)
    except HostlistError:
        return ()
