"""What a ClusterSpec may hold: the one place that says so, by field path.

Pure. Forms, the API and `changes.propose` all ask here, so a spec that reached a revision is well-formed
whichever way it came. Whether Slurm would take it (the catalogue, a shadow controller) is the provisioner's
`check`.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass

from clusters.hostlist import HostlistError, expand
from clusters.life_scripts import FIELD as SCRIPTS
from clusters.life_scripts import script_problems
from clusters.login_rules import login_problems
from clusters.mount_rules import mount_problems
from clusters.spec import CPU_GROUP, GPU_GROUP, MAX_OWN_PARTITIONS, ClusterSpec, NodeGroup, PartitionSpec
from clusters.sshkeys import KeyRefused, parse_key
from console.errors import Problem

LABEL = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
PARTITION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
RESERVED = frozenset({"default", "all", GPU_GROUP, CPU_GROUP, "llm", "asr", "vision", "tts"})
# What stands in the place of a name in the addresses of the partitions' pages.
ADDRESSES = frozenset({"new", "preview"})
STATES = ("UP", "DOWN", "DRAIN", "INACTIVE")
OVERSUBSCRIBE = re.compile(r"NO|EXCLUSIVE|(YES|FORCE)(:[1-9]\d{0,2})?")
MOST_NODES = 4096
HIGHEST_ORDINAL = 99_999
MOST_MINUTES = 525_600
MOST_SSH_KEYS = 64
MOST_CONF_BYTES = 512 * 1024
MOST_CONF_LINES = 20_000

Problems = Iterator[Problem]


def validate(
    spec: ClusterSpec, *, taken: Collection[str] = (), most_nodes: Mapping[str, int] | None = None
) -> tuple[Problem, ...]:
    """Everything wrong with `spec`, empty when it may become a revision.

    `taken` are the names of the team's other clusters; `most_nodes` is each plan's limit, by the plan's slug.
    """
    return (
        *_text(spec),
        *_name(spec.name, taken),
        *_groups(spec.groups, most_nodes or {}),
        *_partitions(spec),
        *_ssh_keys(spec.ssh_keys),
        *_conf(spec.slurm_conf),
        *mount_problems(spec.mounts),
        *script_problems(spec.scripts),
        *login_problems(spec),
    )


def _text(value: object, path: str = "") -> Problems:
    """Control characters, wherever they hide: they would forge lines in files and logs."""
    if isinstance(value, str):
        allowed = "\n\t" if path == "slurm_conf" or path.startswith(f"{SCRIPTS}.") else ""
        if any(
            (ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029") and c not in allowed for c in value
        ):
            yield Problem(path, "This holds a control character.", "Type it again instead of pasting it.")
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _text(item, f"{path}[{index}]")
    elif is_dataclass(value):
        for field in fields(value):
            yield from _text(getattr(value, field.name), f"{path}.{field.name}".lstrip("."))


def _name(name: str, taken: Collection[str]) -> Problems:
    if not LABEL.fullmatch(name):
        yield Problem(
            "name",
            "Use 1 to 40 lower-case letters, digits and hyphens.",
            "It starts with a letter and does not end with a hyphen: it becomes a host name.",
        )
    elif name in taken:
        yield Problem("name", f"The team already has a cluster {name}.", "Choose another name.")


def _groups(groups: tuple[NodeGroup, ...], most_nodes: Mapping[str, int]) -> Problems:
    if not any(group.ordinals for group in groups):
        yield Problem("groups", "A cluster needs at least one worker.", "Ask for one node or more.")
    names = [group.name for group in groups]
    for index, group in enumerate(groups):
        path = f"groups[{index}]"
        if group.name not in (GPU_GROUP, CPU_GROUP):
            yield Problem(f"{path}.name", f"Groups are {GPU_GROUP} and {CPU_GROUP}, not {group.name}.")
        elif names.index(group.name) != index:
            yield Problem(f"{path}.name", f"There are two groups {group.name}.")
        yield from _ordinals(group, f"{path}.ordinals", most_nodes.get(group.shape.plan, MOST_NODES))
        yield from _shape(group, f"{path}.shape")


def _ordinals(group: NodeGroup, path: str, most: int) -> Problems:
    if len(group.ordinals) > most:
        yield Problem(path, f"{group.name} may have at most {most} nodes, not {len(group.ordinals)}.")
    if len(set(group.ordinals)) != len(group.ordinals):
        yield Problem(path, f"{group.name} names a node twice.")
    if any(not 0 <= n <= HIGHEST_ORDINAL for n in group.ordinals):
        yield Problem(path, f"Node numbers of {group.name} run from 0 to {HIGHEST_ORDINAL}.")


def _shape(group: NodeGroup, path: str) -> Problems:
    shape = group.shape
    if shape.cpus < 1:
        yield Problem(f"{path}.cpus", "A machine has at least one CPU.")
    if shape.memory_mib < 1:
        yield Problem(f"{path}.memory_mib", "A machine has some memory.")
    if shape.gpus < 0 or (group.name == GPU_GROUP and shape.gpus == 0):
        yield Problem(
            f"{path}.gpus", f"Machines of {group.name} have at least one GPU.", "Choose a GPU plan."
        )
    if group.name == CPU_GROUP and shape.gpus:
        yield Problem(f"{path}.gpus", f"Machines of {CPU_GROUP} have no GPU.", "Choose a plan without GPUs.")
    if shape.gpu_model and not WORD.fullmatch(shape.gpu_model):
        yield Problem(f"{path}.gpu_model", "A GPU model is one word, as in gpu:h100:8.")


def _partitions(spec: ClusterSpec) -> Problems:
    own = spec.partitions
    if len(own) > MAX_OWN_PARTITIONS:
        yield Problem(
            "partitions",
            f"A cluster may have {MAX_OWN_PARTITIONS} partitions of its own, not {len(own)}.",
            "Delete one that is no longer used.",
        )
    defaults = [p.name for p in own if p.default]
    if len(defaults) > 1:
        yield Problem("partitions", f"Two partitions are default: {' and '.join(defaults[:2])}.", "Keep one.")
    nodes = frozenset(spec.node_names)
    region = {p.name.lower() for p in spec.region_partitions}
    for index, partition in enumerate(own):
        earlier = {p.name.lower() for p in own[:index]}
        yield from _partition_name(partition.name, f"partitions[{index}].name", earlier, region)
        yield from _partition(partition, f"partitions[{index}]", nodes)
    for index, partition in enumerate(spec.region_partitions):
        if partition.nodes not in (GPU_GROUP, CPU_GROUP):
            yield Problem(
                f"region_partitions[{index}].nodes", f"The region's {partition.name} names no group."
            )


def _partition_name(name: str, path: str, earlier: Collection[str], region: Collection[str]) -> Problems:
    if not PARTITION_NAME.fullmatch(name):
        yield Problem(path, "Use letters, digits, dots, hyphens and underscores, starting with a letter.")
    elif name.lower() in RESERVED or name.lower() in region:
        yield Problem(path, f"{name} belongs to the platform.", "Choose another name.")
    elif name in ADDRESSES:
        yield Problem(path, f"{name} is the address of another page.", "Choose another name.")
    elif name.lower() in earlier:
        yield Problem(path, f"There are two partitions {name}.", "Names differ in more than their case.")


def _partition(partition: PartitionSpec, path: str, nodes: Collection[str]) -> Problems:
    yield from _partition_nodes(partition.nodes, f"{path}.nodes", nodes)
    yield from _times(partition, path)
    if partition.state not in STATES:
        yield Problem(f"{path}.state", f"State is one of {', '.join(STATES)}.")
    if not 0 <= partition.priority_tier <= 65_533:
        yield Problem(f"{path}.priority_tier", "The priority tier is a number from 0 to 65533.")
    if not OVERSUBSCRIBE.fullmatch(partition.oversubscribe):
        yield Problem(
            f"{path}.oversubscribe", "Oversubscribe is NO, EXCLUSIVE, YES or FORCE, the last two with :count."
        )
    if partition.qos and not WORD.fullmatch(partition.qos):
        yield Problem(f"{path}.qos", "A QOS is one word.")
    for field in ("allow_groups", "allow_accounts", "allow_qos"):
        for index, word in enumerate(getattr(partition, field)):
            if not WORD.fullmatch(word):
                yield Problem(f"{path}.{field}[{index}]", "Names are single words, without commas or blanks.")


def _partition_nodes(text: str, path: str, nodes: Collection[str]) -> Problems:
    if text.upper() == "ALL":
        return
    try:
        names = expand(text)
    except HostlistError as error:
        yield Problem(path, f"{error}.", "For example slinky-[0-1,5], or ALL.")
        return
    if not names:
        yield Problem(path, "A partition needs nodes.", "For example slinky-[0-1,5], or ALL.")
    unknown = [name for name in names if name not in nodes]
    if unknown:
        shown = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
        yield Problem(path, f"The cluster has no node {shown}.", "The Nodes page lists them all.")


def _times(partition: PartitionSpec, path: str) -> Problems:
    limit, default = partition.max_time_minutes, partition.default_time_minutes
    for field, minutes in (("max_time_minutes", limit), ("default_time_minutes", default)):
        if minutes is not None and not 1 <= minutes <= MOST_MINUTES:
            yield Problem(f"{path}.{field}", "Use 1 minute to 365 days, or leave it empty for no limit.")
    if limit is not None and default is not None and default > limit:
        yield Problem(f"{path}.default_time_minutes", "The default time is longer than the limit.")


def _ssh_keys(keys: tuple[str, ...]) -> Problems:
    if len(keys) > MOST_SSH_KEYS:
        yield Problem("ssh_keys", f"A cluster takes at most {MOST_SSH_KEYS} keys.")
    seen: dict[str, int] = {}
    for index, line in enumerate(keys[:MOST_SSH_KEYS]):
        try:
            fingerprint = parse_key(line).fingerprint
        except KeyRefused as error:
            yield Problem(f"ssh_keys[{index}]", str(error))
            continue
        if seen.setdefault(fingerprint, index) != index:
            yield Problem(
                f"ssh_keys[{index}]", f"This key is there twice: it is also number {seen[fingerprint] + 1}."
            )


def _conf(text: str) -> Problems:
    if len(text.encode()) > MOST_CONF_BYTES:
        yield Problem("slurm_conf", f"At most {MOST_CONF_BYTES // 1024} KiB.")
    if text.count("\n") > MOST_CONF_LINES:
        yield Problem("slurm_conf", f"At most {MOST_CONF_LINES} lines.")
