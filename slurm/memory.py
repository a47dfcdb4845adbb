"""What the last look at a cluster gave, so that an unchanged answer costs no decoding.

Per process and bounded by the cluster: one queue and one node list each. Values are immutable, so handing out
the same objects again is safe, and `is` tells a recorder that nothing changed. Called by `slurm.client` only.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clusters.observation import JobSeen, NodeSeen
from slurm.outputs.nodes import decode_node, node_lines
from slurm.outputs.queue import decode_job
from slurm.outputs.text import Marks, records

# Stands for the call's own marks in what is remembered. Secret as they are: a name that held it could pass
# for another.
_OURS = secrets.token_bytes(6).hex()[:10].encode()


@dataclass
class Memory:
    """The last answers of one cluster. Not for several threads at once: a cluster has one watcher."""

    queue_digest: bytes = b""
    jobs: tuple[JobSeen, ...] = ()
    job_of: dict[bytes, JobSeen] = field(default_factory=dict)
    nodes: tuple[NodeSeen, ...] = ()
    node_of: dict[tuple[bytes, str, str], NodeSeen] = field(default_factory=dict)

    def decode_queue(self, raw: bytes, marks: Marks) -> tuple[JobSeen, ...]:
        """As `outputs.queue.decode_queue`; the very same tuple while the queue does not change."""
        plain = raw.replace(marks.field.encode(), _OURS)
        digest = hashlib.blake2b(plain.replace(marks.record.encode(), _OURS * 2), digest_size=16).digest()
        if digest != self.queue_digest:
            known = self.job_of
            found = {r: known.get(r) or decode_job(r, _OURS) for r in records(plain, marks)}
            self.job_of, self.jobs, self.queue_digest = found, tuple(found.values()), digest
        return self.jobs

    def decode_nodes(
        self, raw: bytes, machine_of: Mapping[str, str], machine_state_of: Callable[[str], str]
    ) -> tuple[NodeSeen, ...]:
        """As `outputs.nodes.decode_nodes`; a node whose record and machine did not change is not decoded
        again."""
        known = self.node_of
        keys = [(line, machine_of.get(n, ""), machine_state_of(n)) for n, line in node_lines(raw).items()]
        if keys != list(known):
            self.node_of = {key: known.get(key) or decode_node(*key) for key in keys}
            self.nodes = tuple(self.node_of.values())
        return self.nodes


_memories: dict[str, Memory] = {}


def memory_of(key: str) -> Memory:
    """The process's memory of one cluster; an empty key gives a fresh one."""
    return _memories.setdefault(key, Memory()) if key else Memory()


def forget(key: str) -> None:
    """Drop what is remembered of a cluster that is gone."""
    _memories.pop(key, None)
