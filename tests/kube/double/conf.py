"""slurm.conf as the operator writes it, and what is changed of it to run in a room of this machine. Pure.

v1.2.1 was seen to write the sections and lines of `operator_conf`, NodeSets sorted by name, `extraConf` verbatim and
unchecked.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slurm.kube.kinds import Thing

MERGED = ("AuthInfo", "AuthAltParameters", "SlurmctldParameters")
HEAD_VALUES = {
    "AuthInfo": "use_client_ids",
    "AuthAltParameters": "jwt_key=/etc/slurm/jwt.key",
    "SlurmctldParameters": "enable_configless,reconfig_on_restart",
}
# Plugins that need a cgroup of one's own, and their stand-ins.
STAND_INS = {
    "proctracktype": {"proctrack/cgroup": "proctrack/linuxproc"},
    "taskplugin": {"task/cgroup": "", "task/affinity": ""},
    "jobacctgathertype": {"jobacct_gather/cgroup": "jobacct_gather/linux"},
    "prologflags": {"contain": ""},
}


def slurm_name(node_set: Thing) -> str:
    """Slurm's name of a NodeSet, its feature and its own partition: the host name's prefix, or the object's name."""
    return prefix_of(node_set).rstrip("-") or node_set["metadata"]["name"]


def prefix_of(node_set: Thing) -> str:
    return ((node_set["spec"].get("template") or {}).get("spec") or {}).get("hostname") or ""


def operator_conf(controller: Thing, accounting: Thing | None, node_sets: Iterable[Thing]) -> str:
    """v1.2.1 was seen to write exactly this into `<controller>-config`; the merged section was read in its source.

    `accounting` is None where there is none, or where the named one is missing: it is then left out silently.
    """
    name, namespace = controller["metadata"]["name"], controller["metadata"]["namespace"]
    spec = controller["spec"]
    cluster = spec.get("clusterName") or f"{namespace}_{name}"
    general = [
        f"ClusterName={cluster}",
        "SlurmUser=slurm",
        f"SlurmctldHost={name}-controller-0({name}-controller.{namespace})",
        "SlurmctldPort=6817",
        f"StateSaveLocation=/var/spool/slurmctld/{cluster}",
        "SlurmdUser=root",
        "SlurmdPort=6818",
        "SlurmdSpoolDir=/var/spool/slurmd",
        "MaxNodeCount=1024",
    ]
    logging = [
        "SlurmctldLogFile=/var/log/slurm/slurmctld.log",
        "SlurmSchedLogFile=/var/log/slurm/slurmctld.log",
        "SlurmdLogFile=/var/log/slurm/slurmd.log",
    ]
    plugins = [
        "AuthType=auth/slurm",
        "CredType=cred/slurm",
        "AuthAltTypes=auth/jwt",
        *(f"{key}={HEAD_VALUES[key]}" for key in ("AuthAltParameters", "AuthInfo", "SlurmctldParameters")),
    ]
    sections = [("GENERAL", general), ("LOGGING", logging), ("PLUGINS & PARAMETERS", plugins)]
    if accounting:
        sections.append(("ACCOUNTING", _accounting(accounting)))
    sections.append(("NODESET & PARTITION", _node_sets(node_sets)))
    extra = spec.get("extraConf") or ""
    sections.append(("EXTRA CONFIG", [extra]))
    if merged := _merged(extra):
        sections.append(("MERGED CONFIG", merged))
    return "".join(_section(title, lines) for title, lines in sections)


def _section(title: str, lines: list[str]) -> str:
    return "\n".join(["#", f"### {title} ###", *lines]) + "\n"


def _accounting(accounting: Thing) -> list[str]:
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={accounting['metadata']['name']}-accounting",
        "AccountingStoragePort=6819",
    ]


def _node_sets(node_sets: Iterable[Thing]) -> list[str]:
    lines = []
    for node_set in sorted(node_sets, key=lambda each: each["metadata"]["name"]):
        name, partition = slurm_name(node_set), node_set["spec"].get("partition") or {}
        lines.append(f"NodeSet={name} Feature={name}")
        if partition.get("enabled"):
            lines.append(f"PartitionName={name} Nodes={name} {partition.get('config', '')}".rstrip())
    return lines


def _merged(extra: str) -> list[str]:
    """The keys that the operator shares with the user: its own values kept, the user's added in lower case."""
    lines = []
    for key in MERGED:
        found = [value for name, value in _settings(extra) if name.lower() == key.lower()]
        if found:
            own = HEAD_VALUES[key].split(",")
            taken = {part.partition("=")[0] for part in own}
            added = [part for value in found for part in value.lower().split(",")]
            lines.append(f"{key}={','.join([*own, *(p for p in added if p.partition('=')[0] not in taken)])}")
    return lines


def _settings(text: str) -> list[tuple[str, str]]:
    pairs = (line.split("#", 1)[0].strip().partition("=") for line in text.splitlines())
    return [(name.strip(), value.strip()) for name, equals, value in pairs if equals]


@dataclass(frozen=True)
class Place:
    """Where a room's Slurm is: users and ports that differ from a pod's, each with every room on one loopback."""

    host: str
    slurm_user: str
    root_user: str
    slurmctld_port: int
    slurmdbd_port: int
    munge_socket: str
    state: str
    spool: str


def room_conf(text: str, place: Place) -> str:
    """What the room's daemons read instead of `text`; every line that is not named here stays as it is.

    Changed: users, the controller's address and port, spool and state directories, the log of slurmd (one for each
    node), accounting's address, authentication (munge for auth/slurm, none for jwt), and the cgroup plugins, which
    have stand-ins because a room has no cgroup of its own. A plugin that is not one of Slinky's usual ones is left,
    so a bad one still kills the controller.
    """
    values = _room_values(place)
    lines = [line for line in (_room_line(each, values) for each in text.splitlines()) if line is not None]
    given = {line.partition("=")[0].strip().lower() for line in lines}
    defaults = [line for line in _defaults(place) if line.partition("=")[0].lower() not in given]
    return "\n".join([*defaults, *lines]) + "\n"


def _defaults(place: Place) -> list[str]:
    """Where the file says nothing: what can work here, and a scheduler that does not take half a minute."""
    return [
        "SchedulerParameters=bf_interval=2,sched_interval=2",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/linux",
        "SlurmdParameters=config_overrides",
        "MpiDefault=none",
        "SlurmctldPidFile=/run/slurm/slurmctld.pid",
        "SlurmdPidFile=/run/slurm/slurmd-%n.pid",
        f"AccountingStoragePass={place.munge_socket}",
    ]


def _room_values(place: Place) -> Mapping[str, str | None]:
    return {
        "slurmctldhost": f"{place.host}(127.0.0.1)",
        "slurmctldport": str(place.slurmctld_port),
        "slurmuser": place.slurm_user,
        "slurmduser": place.root_user,
        "statesavelocation": place.state,
        "slurmdspooldir": f"{place.spool}/%n",
        "slurmdlogfile": "/var/log/slurm/slurmd-%n.log",
        "authtype": "auth/munge",
        "credtype": "cred/munge",
        "authinfo": f"socket={place.munge_socket}",
        "authalttypes": None,
        "authaltparameters": None,
        "accountingstoragehost": "127.0.0.1",
        "accountingstorageport": str(place.slurmdbd_port),
    }


def _room_line(line: str, values: Mapping[str, str | None]) -> str | None:
    match = re.match(r"\s*(\w+)\s*=\s*(.*)", line)
    if match is None:
        return line
    key, value = match[1].lower(), match[2]
    if key in values:
        return None if values[key] is None else f"{match[1]}={values[key]}"
    if key not in STAND_INS:
        return line
    parts = [STAND_INS[key].get(part.strip().lower(), part) for part in value.split(",")]
    kept = ",".join(part for part in parts if part)
    return f"{match[1]}={kept}" if kept else None


def room_gres(node_sets: Iterable[Thing]) -> str:
    """gres.conf for declared GPUs: device files that exist in every room, for any ordinal a NodeSet may come to have.

    Stands for whatever the cluster's own file says, which would look for NVIDIA's library.
    """
    lines = ["AutoDetect=off"]
    for node_set in node_sets:
        for kind, count in re.findall(
            r"\bgpu:(?:([\w.@-]+):)?(\d+)", node_set["spec"].get("extraConf") or ""
        ):
            names = f"{prefix_of(node_set) or node_set['metadata']['name'] + '-'}[0-1023]"
            files = "/dev/nvidia0" if count == "1" else f"/dev/nvidia[0-{int(count) - 1}]"
            lines.append(f"NodeName={names} Name=gpu{f' Type={kind}' if kind else ''} File={files}")
    return "\n".join(lines) + "\n"
