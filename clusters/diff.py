"""What differs between two ClusterSpecs, in paths a person reads, and the same in one sentence.

Pure. Used by previews, the conflict page, a change's summary and the audit trail. Partitions and groups are
addressed by name, never by position; slurm.conf line by line; keys by their comment or fingerprint.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TypeVar

from clusters.hostlist import fold_ordinals
from clusters.life_scripts import ABOUT, FIELD, Hook, script_of
from clusters.line_match import LineMatcher
from clusters.spec import ClusterSpec, Leaver, Logins, Mount, NodeGroup, PartitionSpec, Shape
from clusters.sshkeys import KeyRefused, parse_key

LONGEST_SENTENCE = 200
Item = TypeVar("Item", NodeGroup, PartitionSpec)
FIELD_WORDS = {
    "name": "Name",
    "image": "Image",
    "slurm_version": "Slurm",
    "max_time_minutes": "time limit",
    "default_time_minutes": "default time",
    "priority_tier": "priority",
    "allow_groups": "allowed groups",
    "allow_accounts": "allowed accounts",
    "allow_qos": "allowed QOS",
    "shape.plan": "plan",
    "shape.cpus": "CPUs",
    "shape.memory_mib": "memory (MiB)",
    "shape.gpus": "GPUs",
    "shape.gpu_model": "GPU model",
    "homes": "homes at",
    "account": "Slurm account",
}
# What is compared line by line, as it is spoken of.
TEXTS = {"slurm_conf": "slurm.conf", **{f"{FIELD}.{hook}": ABOUT[hook].title for hook in Hook}}


class Op(StrEnum):
    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"


@dataclass(frozen=True)
class FieldChange:
    """`old` and `new` are text as shown, empty where there is nothing. `slurm_conf:12` is a line: of the old
    text for a removal, of the new one otherwise. So is `scripts.worker_prolog:3`."""

    op: Op
    path: str
    old: str = ""
    new: str = ""


Changes = Iterator[FieldChange]


def diff(old: ClusterSpec, new: ClusterSpec) -> tuple[FieldChange, ...]:
    """Empty exactly when rendering both gives the same cluster."""
    return (
        *_values(old, new, "", ("name", "image", "slurm_version")),
        *_named(old.groups, new.groups, "groups", _group),
        *_named(old.region_partitions, new.region_partitions, "region_partitions", _partition),
        *_named(old.partitions, new.partitions, "partitions", _partition),
        *_lines(old.slurm_conf, new.slurm_conf, "slurm_conf"),
        *_keys(old.ssh_keys, new.ssh_keys),
        *_mounts(old.mounts, new.mounts),
        *(
            change
            for hook in Hook
            for change in _lines(
                script_of(old.scripts, hook), script_of(new.scripts, hook), f"{FIELD}.{hook}"
            )
        ),
        *_logins(old.logins, new.logins),
    )


def sentence(changes: Sequence[FieldChange]) -> str:
    """`Partition debug: time limit 2 h; slurm.conf: 2 lines`, at most 200 characters."""
    said: dict[str, list[str]] = {}
    for change in changes:
        subject, what = _spoken(change)
        said.setdefault(subject, []).append(what)
    parts = [f"{subject}: {_joined(subject, whats)}" for subject, whats in said.items()]
    text = "; ".join(parts) or "Nothing changes"
    return text if len(text) <= LONGEST_SENTENCE else text[: LONGEST_SENTENCE - 1] + "…"


def minutes_spoken(minutes: int | None) -> str:
    """`2 h`, `1 d 12 h`, `no limit`."""
    if minutes is None:
        return "no limit"
    parts = ((minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min"))
    return " ".join(f"{n} {unit}" for n, unit in parts if n) or "0 min"


def _values(old: object, new: object, prefix: str, names: Sequence[str]) -> Changes:
    for name in names:
        before, after = shown(name, getattr(old, name)), shown(name, getattr(new, name))
        if before != after:
            op = Op.CHANGE if before and after else Op.ADD if after else Op.REMOVE
            yield FieldChange(op, f"{prefix}{name}", before, after)


def shown(name: str, value: object) -> str:
    """One field's value as text; the empty text is *not set*."""
    if name == "ordinals" and isinstance(value, tuple):
        return fold_ordinals(value)
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def described(item: NodeGroup | PartitionSpec) -> str:
    """A whole group or partition in a few words, for the side of a diff where the other has nothing."""
    if isinstance(item, NodeGroup):
        return f"{len(item.ordinals)} × {item.shape.plan}"
    limit = minutes_spoken(item.max_time_minutes)
    return f"{item.nodes}, {limit}" + (", default" if item.default else "")


def _named(
    old: Sequence[Item], new: Sequence[Item], field: str, inside: Callable[[Item, Item, str], Changes]
) -> Changes:
    before, after = {item.name: item for item in old}, {item.name: item for item in new}
    for name, item in before.items():
        if name not in after:
            yield FieldChange(Op.REMOVE, f"{field}[{name}]", described(item))
    for name, item in after.items():
        if name not in before:
            yield FieldChange(Op.ADD, f"{field}[{name}]", "", described(item))
        else:
            yield from inside(before[name], item, f"{field}[{name}].")


def _group(old: NodeGroup, new: NodeGroup, prefix: str) -> Changes:
    yield from _values(old, new, prefix, ("ordinals",))
    yield from _values(old.shape, new.shape, f"{prefix}shape.", [f.name for f in fields(Shape)])


def _partition(old: PartitionSpec, new: PartitionSpec, prefix: str) -> Changes:
    return _values(old, new, prefix, [f.name for f in fields(PartitionSpec) if f.name != "name"])


def _lines(old: str, new: str, path: str) -> Changes:
    before, after = old.splitlines(), new.splitlines()
    for tag, i, j, k, m in LineMatcher(before, after).get_opcodes():
        if tag == "equal":
            continue
        paired = min(j - i, m - k)
        for n in range(paired):
            yield FieldChange(Op.CHANGE, f"{path}:{k + n + 1}", before[i + n], after[k + n])
        for n in range(i + paired, j):
            yield FieldChange(Op.REMOVE, f"{path}:{n + 1}", before[n])
        for n in range(k + paired, m):
            yield FieldChange(Op.ADD, f"{path}:{n + 1}", "", after[n])


def _keys(old: tuple[str, ...], new: tuple[str, ...], field: str = "ssh_keys", whose: str = "") -> Changes:
    for line in old:
        if line not in new:
            yield FieldChange(Op.REMOVE, f"{field}[{whose}{_key_name(line)}]", _key_name(line))
    for line in new:
        if line not in old:
            yield FieldChange(Op.ADD, f"{field}[{whose}{_key_name(line)}]", "", _key_name(line))


def _mounts(old: tuple[Mount, ...], new: tuple[Mount, ...]) -> Changes:
    """By path. A volume's new name is no change: the mount is the same."""
    before, after = {mount.path: mount for mount in old}, {mount.path: mount for mount in new}
    for path in [*before, *(path for path in after if path not in before)]:
        was, becomes = before.get(path), after.get(path)
        if was and becomes and (was.volume, was.read_only) == (becomes.volume, becomes.read_only):
            continue
        op = Op.CHANGE if was and becomes else Op.ADD if becomes else Op.REMOVE
        yield FieldChange(op, f"mounts[{path}]", mounted(was), mounted(becomes))


def _logins(old: Logins, new: Logins) -> Changes:
    yield from _values(old, new, "logins.", ("on", "homes", "account"))
    before, after = {user.name: user for user in old.users}, {user.name: user for user in new.users}
    for name, user in before.items():
        if name not in after:
            yield FieldChange(Op.REMOVE, f"logins.users[{name}]", str(user.uid))
    for name, user in after.items():
        if name not in before:
            yield FieldChange(Op.ADD, f"logins.users[{name}]", "", str(user.uid))
        else:
            yield from _values(before[name], user, f"logins.users[{name}].", ("uid", "sudo", "groups"))
            yield from _keys(before[name].keys, user.keys, "logins.keys", f"{name}: ")
    yield from _login_groups(old, new)
    for leaver in new.leavers:
        if leaver not in old.leavers:
            yield FieldChange(Op.ADD, f"logins.leavers[{leaver.name}]", "", left(leaver))


def _login_groups(old: Logins, new: Logins) -> Changes:
    before, after = ({group.name: group.gid for group in logins.groups} for logins in (old, new))
    for name in sorted(before | after):
        was, becomes = before.get(name), after.get(name)
        if was != becomes:
            op = Op.CHANGE if was and becomes else Op.ADD if becomes else Op.REMOVE
            yield FieldChange(op, f"logins.groups[{name}]", shown("gid", was), shown("gid", becomes))


def left(leaver: Leaver) -> str:
    """`jobs run on, home archived`."""
    jobs = "jobs cancelled" if leaver.jobs == "cancel" else "jobs run on"
    home = {"archive": "home archived", "delete": "home deleted"}.get(leaver.home, "home kept")
    return f"{jobs}, {home}"


def mounted(mount: Mount | None) -> str:
    """`scratch, read-only`; empty where there is no mount."""
    if mount is None:
        return ""
    return f"{mount.name}, read-only" if mount.read_only else mount.name


def _key_name(line: str) -> str:
    try:
        key = parse_key(line)
    except KeyRefused:
        return "unreadable key"
    return key.comment or key.fingerprint


def _spoken(change: FieldChange) -> tuple[str, str]:
    """What a change is about, and what happens to it."""
    field, name, rest = _taken_apart(change.path)
    if field in TEXTS:
        return TEXTS[field], "line"
    if field == "ssh_keys":
        return "SSH keys", f"{'add' if change.op is Op.ADD else 'remove'} {name}"
    if field == "mounts":
        return "Volumes", _mount_spoken(change, name)
    if field.startswith("logins."):
        return "Login users", _login_spoken(change, field.removeprefix("logins."), name, rest)
    if field == "groups":
        return name, _group_spoken(change, rest)
    if field in {"partitions", "region_partitions"}:
        return f"Partition {name}", _partition_spoken(change, rest)
    return FIELD_WORDS.get(field, field), f"{change.old or 'none'} to {change.new or 'none'}"


def _taken_apart(path: str) -> tuple[str, str, str]:
    """`partitions[debug].state` as its three parts; names may hold dots but no bracket."""
    field, bracket, rest = path.partition("[")
    if not bracket:
        return path.partition(":")[0], "", ""
    name, _, rest = rest.rpartition("]")
    return field, name, rest.lstrip(".")


def _mount_spoken(change: FieldChange, path: str) -> str:
    if change.op is Op.REMOVE:
        return f"unmount {change.old} from {path}"
    return f"mount {change.new} at {path}"


def _login_spoken(change: FieldChange, field: str, name: str, rest: str) -> str:
    if field == "on":
        return "on" if change.new == "yes" else "off"
    if field == "leavers":
        return f"of {name} {change.new}"
    act = "add" if change.op is Op.ADD else "remove"
    if field == "keys":
        whose, _, key = name.partition(": ")
        return f"{act} key {key} of {whose}"
    if rest:
        return f"{name} {FIELD_WORDS.get(rest, rest)} {change.new or 'none'}"
    if not name:
        return f"{FIELD_WORDS.get(field, field)} {change.new or 'the cluster itself'}"
    return f"{act} {'group ' if field == 'groups' else ''}{name}"


def _group_spoken(change: FieldChange, rest: str) -> str:
    if rest == "ordinals":
        return f"{_count(change.old)} to {_count(change.new)} nodes"
    if rest:
        return f"{FIELD_WORDS.get(rest, rest)} {change.new or 'none'}"
    return "removed" if change.op is Op.REMOVE else f"added, {change.new}"


def _count(folded: str) -> int:
    """How many ordinals `0-2,5` stands for."""
    runs = [part.split("-") for part in folded.split(",") if part]
    return sum(int(run[-1]) - int(run[0]) + 1 for run in runs)


def _partition_spoken(change: FieldChange, rest: str) -> str:
    if rest in {"max_time_minutes", "default_time_minutes"}:
        minutes = int(change.new) if change.new else None
        return f"{FIELD_WORDS[rest]} {minutes_spoken(minutes)}"
    if rest == "default":
        return "default" if change.new == "yes" else "no longer default"
    if rest:
        return f"{FIELD_WORDS.get(rest, rest)} {change.new or 'none'}"
    return "removed" if change.op is Op.REMOVE else f"added on {change.new}"


def _joined(subject: str, whats: Sequence[str]) -> str:
    if subject in TEXTS.values():
        return f"{len(whats)} line{'s' if len(whats) > 1 else ''}"
    return ", ".join(whats)
