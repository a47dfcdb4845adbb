"""The lines of nodes and partitions in a complete slurm.conf: their fields, and what they say of each other.

Pure; called by `checks.conf` for whole files. The rules are those by which slurmctld refuses a file (read_config.c,
node_conf.c, 22.05 to 26.05), and a few that it swallows to everybody's harm: two daemons on one port, GPUs that nobody
counts, CPUs that do not add up.
"""

from collections.abc import Iterator

from clusters.hostlist import HostlistError, expand
from console.numbers import typed_number
from slurm.checks.combinations import Settings
from slurm.checks.partition import PartitionRules, partition_complaints
from slurm.checks.values import Complaint, complaints
from slurm.conf import Line, SlurmConf
from slurm.parameters import find, nearest

Finding = tuple[Line, str, Complaint]


def entity_problems(
    document: SlurmConf, settings: Settings, node_names: tuple[str, ...]
) -> Iterator[Finding]:
    """Line, key and complaint. Nodes are those of the file's own lines and `node_names` together."""
    nodes = list(document.entities("NodeName"))
    for line in (*nodes, *document.entities("NodeSet"), *document.entities("DownNodes")):
        yield from _fields(line, settings.version)
    yield from _duplicate_nodes(nodes)
    yield from _shared_ports(nodes)
    for line in nodes:
        yield from _cpus(line)
        yield from _gres(line, settings)
    yield from _partitions(document, settings, node_names)


def _fields(line: Line, version: str) -> Iterator[Finding]:
    for field in line.fields:
        known = find(field.key, line.entity)
        if known is None or not known.known_in(version):
            yield line, field.key, unknown_field(field.key, line.entity or "", version)
            continue
        for one in complaints(known, field.value, version):
            yield line, field.key, one


def unknown_field(key: str, entity: str, version: str) -> Complaint:
    known = find(key, entity)
    if known:
        return Complaint(f"exists from Slurm {known.since} on; this cluster runs {version}", "Take it out.")
    guess = nearest(key, entity, version)
    return Complaint(
        f"is not a field of a {entity} line", f"Did you mean {guess}?" if guess else "Take it out."
    )


def _names(text: str | None) -> tuple[str, ...]:
    """The hosts, or none for DEFAULT and for what is no host list (a complaint of its own elsewhere)."""
    if not text or text.upper() == "DEFAULT":
        return ()
    try:
        return expand(text)
    except HostlistError:
        return ()


def _duplicate_nodes(nodes: list[Line]) -> Iterator[Finding]:
    seen: dict[str, Line] = {}
    for line in nodes:
        text = line.fields[0].value
        try:
            names = expand(text) if text.upper() != "DEFAULT" else ()
        except HostlistError as error:
            yield (
                line,
                "NodeName",
                Complaint(str(error).replace(text, "the value"), "Write NodeName=slinky-[0-3]."),
            )
            continue
        for name in names:
            if name in seen:
                text = f"{name} is already described on line {seen[name].number}"
                yield line, "NodeName", Complaint(text, "Describe every node once.")
            seen.setdefault(name, line)


def _shared_ports(nodes: list[Line]) -> Iterator[Finding]:
    seen: dict[tuple[str, str], str] = {}
    for line in nodes:
        port = line.get("Port")
        if not port or not port.isdigit():
            continue
        for name, address in _addresses(line):
            other = seen.setdefault((address, port), name)
            if other != name:
                text = f"{port} of {name} is already that of {other} on the same host"
                yield line, "Port", Complaint(text, "Give each daemon of a host a port of its own.")


def _addresses(line: Line) -> list[tuple[str, str]]:
    """Each node with the host it runs on; one host for several names is one host."""
    names = _names(line.fields[0].value)
    hosts = _names(line.get("NodeHostname")) or _names(line.get("NodeAddr")) or names
    if len(hosts) == 1:
        return [(name, hosts[0]) for name in names]
    return list(zip(names, hosts, strict=False))


def _cpus(line: Line) -> Iterator[Finding]:
    """CPUs must be the product of boards, sockets, cores and threads, or of a part of it; else Slurm resets it."""
    cpus = _int(line, "CPUs", 0)
    sockets = _int(line, "Sockets", 0) or _int(line, "Boards", 1) * _int(line, "SocketsPerBoard", 1)
    cores = sockets * _int(line, "CoresPerSocket", 1)
    shaped = any(line.get(key) for key in ("Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore"))
    if cpus and shaped and cpus not in (sockets, cores, cores * _int(line, "ThreadsPerCore", 1)):
        text = f"{cpus} match neither sockets ({sockets}), cores ({cores}) nor threads of the node"
        yield line, "CPUs", Complaint(text, "Make CPUs the product of sockets, cores and threads.")


def _int(line: Line, key: str, default: int) -> int:
    number = typed_number(line.get(key))
    return default if number is None else number


def _gres(line: Line, settings: Settings) -> Iterator[Finding]:
    counted = settings.words("GresTypes")
    for item in (line.get("Gres") or "").split(","):
        kind = item.split(":")[0].lower()
        if kind and kind not in counted:
            yield (
                line,
                "Gres",
                Complaint(f"names {kind}, which is not in GresTypes", f"Set GresTypes={kind}."),
            )


def _partitions(document: SlurmConf, settings: Settings, node_names: tuple[str, ...]) -> Iterator[Finding]:
    lines = list(document.entities("PartitionName"))
    described = [name for line in document.entities("NodeName") for name in _names(line.fields[0].value)]
    sets = [line.fields[0].value for line in document.entities("NodeSet")]
    rules = PartitionRules(settings.version, (*described, *node_names, *sets), platform=True)
    default: Line | None = None
    seen: dict[str, Line] = {}
    for line in lines:
        fields = {field.key: field.value for field in line.fields}
        yield from ((line, key, one) for key, one in partition_complaints(fields, rules))
        name = line.fields[0].value
        if name in seen and name.upper() != "DEFAULT":
            yield (
                line,
                "PartitionName",
                Complaint(f"{name} is already on line {seen[name].number}", "Keep one."),
            )
        seen[name] = line
        if (line.get("Default") or "").lower() in ("yes", "true", "1", "up"):
            if default:
                text = f"is YES for {default.fields[0].value} on line {default.number} too; the last one wins"
                yield line, "Default", Complaint(text, "Let one partition be the default.")
            default = line
