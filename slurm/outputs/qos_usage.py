"""What has been used of the GPU-minutes of each QOS: `scontrol -o show assoc_mgr flags=qos` (scontrol(1)).

One record a line, `QOS=short(3) UsageRaw=... GrpTRESMins=cpu=N(0),...,gres/gpu=1000(12),... `, in which the numbers in
brackets are the use. Only who administers the database names a QOS, and only the first record of a name counts.
"""

import re
from collections.abc import Mapping

from slurm.outputs.text import decoded

_RECORD = re.compile(r"^QOS=([a-z0-9_][a-z0-9_.-]{0,62})\(\d+\) UsageRaw=\S* (.*)$", re.MULTILINE)
_MINUTES = re.compile(r"(?:^| )GrpTRESMins=(\S*)")
_USED = re.compile(r"([a-z]+(?:/[A-Za-z0-9_.:-]+)?)=(?:N|\d+)\((\d+)\)")


def decode_qos_minutes(raw: bytes) -> Mapping[str, Mapping[str, int]]:
    """By QOS and resource; a QOS that the controller does not know is left out."""
    found: dict[str, Mapping[str, int]] = {}
    for name, rest in _RECORD.findall(decoded(raw)):
        minutes = _MINUTES.search(rest)
        if minutes:
            found.setdefault(name, {tres: int(used) for tres, used in _USED.findall(minutes[1])})
    return found
