"""The running configuration: `scontrol show config` as a mapping, and whether `scontrol ping` saw a
controller."""

import re
from collections.abc import Mapping

from slurm.outputs.text import Unreadable, decoded

_LINE = re.compile(r"^([A-Za-z][\w\[\]]*)\s*= ?(.*)$")


def decode_config(raw: bytes) -> Mapping[str, str]:
    """Keys as Slurm spells them (`SlurmctldHost[0]`); values as printed, with their units (`300 sec`)."""
    matches = (_LINE.match(line.rstrip()) for line in decoded(raw).split("\n"))
    found: dict[str, str] = {}
    for match in matches:
        if match:
            found.setdefault(match[1], match[2])
    if "ClusterName" not in found:
        raise Unreadable("the configuration has no ClusterName")
    return found


def controller_is_up(raw: bytes) -> bool:
    """Whether any controller answers (`Slurmctld(primary) at host is UP`)."""
    return re.search(rb"^Slurmctld\(\w+\)[^\n]* is UP", raw, re.MULTILINE) is not None
