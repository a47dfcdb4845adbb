"""Why a job waits, or how it ended, in a sentence. Pure.

Codes are those of squeue(1), JOB REASON CODES, and of the library's own table (`job_state_reason_string`,
22.05 to 26.05). Free forms that the scheduler writes instead of a code are read by their beginnings. Only
reasons about resources look at the nodes, so that a queue of thousands need not be explained again when a
node changes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clusters.observation import JobSeen, NodeSeen, PartitionSeen
from slurm.capacity import impossible, need_of, out_of_service, shortage
from slurm.states import state_word

__all__ = ["Survey", "explain", "looks_at_nodes", "state_word", "survey", "why"]

SENTENCES: Mapping[str, str] = {
    "None": "The scheduler has not looked at it yet.",
    "WaitingForScheduling": "The scheduler has not looked at it yet.",
    "Priority": "Waits behind jobs of higher priority in {partition}.",
    "JobHeldUser": "Held by its owner or an operator. Release to let it compete.",
    "JobHeldAdmin": "Held by an administrator. An operator can release it.",
    "JobHoldMaxRequeue": "Held after too many requeues (MaxBatchRequeue). Find out why it fails, then release it.",
    "DependencyNeverSatisfied": "Can never start: the job it depends on ended otherwise ({dependency}). Cancel it.",
    "JobArrayTaskLimit": "As many tasks of the array run as its limit (%) allows; one starts when another ends.",
    "PartitionTimeLimit": "Asks more time than {partition} allows. Lower its time limit or choose another partition.",
    "PartitionNodeLimit": "Asks more nodes than {partition} has or allows.",
    "PartitionDown": "{Partition} is down: it takes jobs and starts none.",
    "PartitionInactive": "{Partition} is inactive: it takes no jobs and starts none.",
    # So 24.11 calls an account that AllowAccounts leaves out, too.
    "PartitionConfig": "{Partition} does not allow what it asks for, or its account ({account}).",
    "AccountNotAllowed": "{Partition} does not allow its account ({account}).",
    "InvalidAccount": "Its user is not in the account it names ({account}). Once an admin adds them it starts.",
    "InvalidQOS": "Its QOS ({qos}) does not exist or may not be used. Cancel it and submit again.",
    "QOSNotAllowed": "{Partition} does not allow its QOS ({qos}).",
    "QOSUsageThreshold": "The usage of its QOS ({qos}) is above the threshold.",
    "AccountingPolicy": "A limit of its account or QOS is reached.",
    "AssociationJobLimit": "Its account ({account}) runs as many jobs as it may.",
    "AssociationResourceLimit": "Its account ({account}) uses as much as it may.",
    "AssociationTimeLimit": "Its account ({account}) has used its time.",
    "QOSJobLimit": "Its QOS ({qos}) runs as many jobs as it may.",
    "QOSResourceLimit": "Its QOS ({qos}) uses as much as it may.",
    "QOSTimeLimit": "Its QOS ({qos}) has used its time.",
    "BadConstraints": "Asks for something that no node can give.",
    "MaxMemPerLimit": "Asks more memory than a job may have for each CPU or node.",
    "Licenses": "Waits for licenses that other jobs use.",
    "Reservation": "Waits for its reservation to begin.",
    "ReservationDeleted": "Its reservation was deleted. Cancel it or give it another one.",
    "ReservationInvalid": "Its reservation does not exist or may not be used.",
    "RequiresReservation": "{Partition} takes only jobs with a reservation.",
    "Cleaning": "Was requeued and its last run is still being cleaned up.",
    "Prolog": "The prolog is preparing its nodes.",
    "DeadLine": "Cannot end before its deadline.",
    "SchedDefer": "The scheduler puts off new jobs for now.",
    "MaxPoweredUpNodes": "As many nodes are powered up as may be.",
    "MpiPortsBusy": "The ports that it needs for MPI are in use.",
    "BurstBufferResources": "Waits for space in the burst buffer.",
    "BurstBufferStageIn": "Its data are being copied to the burst buffer.",
    "BurstBufferOperation": "The burst buffer failed to serve it.",
    "FedJobLock": "Another cluster of the federation is deciding about it.",
    "FrontEndDown": "The node from which it would be started is down.",
    "JobLaunchFailure": "Could not be started: a node, a file or a program was missing.",
    "NodeDown": "A node that it needs is down.",
    "SystemFailure": "Slurm, a file system or the network failed.",
    "InactiveLimit": "Was idle for too long.",
    "NonZeroExitCode": "Its last run ended with an error.",
    "OutOfMemory": "Its last run used more memory than it asked for.",
    "TimeLimit": "Its last run reached its time limit.",
    "RequeueExit": "Was requeued because of its exit code.",
    "RequeueExitHold": "Was requeued and held because of its exit code. Release to let it compete.",
}
# What the controller writes without a code, in parts; all of them are held (slurmctld of 22.05 to 26.05).
PUT_BACK: Mapping[str, str] = {
    "launch failed requeued held": "Could not be started: most often the prolog failed on its node. It was put back "
    "and is held. Release it when that is mended.",
    "launch failure limit exceeded": "Could not be started again and again. It was put back and is held. Release it "
    "when that is mended.",
    "user env retrieval failed": "The environment of its user could not be read, so it was put back and is held. "
    "Release to let it compete.",
    "requeued in held state": "Was requeued and held. Release to let it compete.",
    "requeued in special exit state": "Was requeued and held because of its exit code. Release to let it compete.",
}
ENDINGS: Mapping[str, str] = {
    "CANCELLED": "Cancelled.",
    "TIMEOUT": "Reached its time limit.",
    "NODE_FAIL": "A node that it ran on failed.",
    "BOOT_FAIL": "Its nodes did not start.",
    "OUT_OF_MEMORY": "Used more memory than it asked for.",
    "PREEMPTED": "Made room for a job of higher priority.",
    "DEADLINE": "Did not end before its deadline.",
    "SUSPENDED": "Suspended: it keeps its nodes and does nothing.",
    "COMPLETING": "Has ended; its nodes are being cleaned up.",
    "CONFIGURING": "Its nodes are being prepared.",
    "UNKNOWN": "Left the queue unseen; accounting has not said how it ended.",
}
_OF_NODES = (
    "Resources",
    "ReqNodeNotAvail",
    "Nodes required for job",
    "NodeDown",
    "BadConstraints",
    "PartitionNodeLimit",
)
_LIMIT = re.compile(
    r"(?P<whose>Assoc|QOS|)(?P<scope>Grp|Max|Min)(?P<what>BB|Billing|CPU|Cpu|Energy|GRES|License|Memory|Mem|Node|Jobs?"
    r"|SubmitJobs?|WallDuration|Wall|Unknown)(?P<run>Run)?(?P<minutes>Min(?:ute)?s)?"
    r"(?P<per>Per(?:Job|Node|User|Account))?(?:Limit|NotSatisfied)?"
)
_WHAT = {
    "BB": "burst buffer",
    "Billing": "billing units",
    "CPU": "CPUs",
    "Cpu": "CPUs",
    "Energy": "energy",
    "GRES": "GPUs",
    "License": "licenses",
    "Memory": "memory",
    "Mem": "memory",
    "Node": "nodes",
    "Job": "running jobs",
    "Jobs": "running jobs",
    "SubmitJob": "submitted jobs",
    "SubmitJobs": "submitted jobs",
    "WallDuration": "run time",
    "Wall": "run time",
    "Unknown": "a resource",
}
_PER = {"PerJob": "a job", "PerNode": "each node", "PerUser": "each user", "PerAccount": "each account"}
_DEPENDENCY = re.compile(r"(after\w*|singleton|expand)(?::([\d_*]+)(?:\+(\d+))?)?")
_AFTER = {
    "after": "has started",
    "afterany": "has ended",
    "afterok": "finishes well",
    "afternotok": "fails",
    "aftercorr": "finishes the same task well",
    "afterburstbuffer": "has staged out its data",
}


@dataclass(frozen=True)
class Survey:
    """The nodes of each partition, gathered once for a whole queue."""

    nodes_of: Mapping[str, tuple[NodeSeen, ...]] = field(default_factory=dict)

    def eligible(self, job: JobSeen) -> tuple[NodeSeen, ...]:
        """Nodes of any partition that the job names, each once."""
        found = {node.name: node for name in job.partition.split(",") for node in self.nodes_of.get(name, ())}
        return tuple(found.values())


def survey(nodes: Sequence[NodeSeen], partitions: Sequence[PartitionSeen] = ()) -> Survey:
    found: dict[str, list[NodeSeen]] = {partition.name: [] for partition in partitions}
    for node in nodes:
        for name in node.partitions:
            found.setdefault(name, []).append(node)
    return Survey({name: tuple(members) for name, members in found.items()})


def why(job: JobSeen, nodes: Sequence[NodeSeen], partitions: Sequence[PartitionSeen] = ()) -> str:
    """Why the job waits or how it ended; empty for a job that runs or ended well. For many jobs use
    `explain`."""
    return explain(job, survey(nodes, partitions))


def explain(job: JobSeen, seen: Survey) -> str:
    """As `why`, with the nodes surveyed once."""
    if job.state == "PENDING":
        return _waiting(job, seen)
    if job.state == "FAILED":
        return _failed(job)
    return ENDINGS.get(job.state, "")


def looks_at_nodes(job: JobSeen) -> bool:
    """Whether the sentence changes when nodes do."""
    return job.state == "PENDING" and job.reason.startswith(_OF_NODES)


def _waiting(job: JobSeen, seen: Survey) -> str:
    if "JobHeld" in job.reason:
        return SENTENCES["JobHeldAdmin" if "JobHeldAdmin" in job.reason else "JobHeldUser"]
    if put_back := next((said for part, said in PUT_BACK.items() if part in job.reason), ""):
        return put_back
    code = re.split(r"[,\s]", job.reason, maxsplit=1)[0] or "None"
    if looks_at_nodes(job):
        return _resources(job, seen, code)
    if code == "Dependency":
        return _after(job.dependency)
    if code == "BeginTime":
        return _begin(job)
    if code in SENTENCES:
        return _filled(SENTENCES[code], job)
    return _limit(code, job) or f"Slurm says: {' '.join(job.reason.split())}"


def _resources(job: JobSeen, seen: Survey, code: str) -> str:
    nodes, need = seen.eligible(job), need_of(job)
    never = impossible(need, nodes)
    if never:
        return never
    if code in ("BadConstraints", "PartitionNodeLimit"):
        return _filled(SENTENCES[code], job)
    away, short = out_of_service(nodes), shortage(need, nodes)
    if code == "ReqNodeNotAvail" and "reserv" in job.reason.lower():
        return "The nodes that it asks for are reserved. " + short
    if code == "Resources":
        return short or (away and f"{away}.") or "What it asks for is free; it should start soon."
    then = short[:1].lower() + short[1:] if short else "nothing else stands in its way."
    return f"{away or 'The nodes it needs are busy or kept for jobs of higher priority'}; {then}"


def _failed(job: JobSeen) -> str:
    status, _, signal = job.exit_code.partition(":")
    if signal not in ("", "0"):
        return f"Ended by signal {signal}."
    if status not in ("", "0"):
        return f"Exited with {status}."
    return _filled(SENTENCES.get(job.reason, "Failed."), job)


def _after(dependency: str) -> str:
    """`afterok:4127(unfulfilled)` as `After 4127 finishes well (afterok).`; `?` between two means either."""
    found = [match.groups() for match in _DEPENDENCY.finditer(dependency)]
    if not found:
        return "Waits for another job."
    if found[0][0] == "singleton":
        return "After the other jobs of this user with the same name have ended (singleton)."
    joined = " or " if "?" in dependency else " and "
    return f"After {joined.join(_one_after(*parts) for parts in found)}."


def _one_after(kind: str, number: str | None, minutes: str | None) -> str:
    delay = f", {minutes} minutes later" if minutes else ""
    job = (number or "another job").replace("_*", "")
    return f"{job} {_AFTER.get(kind, 'allows it')}{delay} ({kind})"


def _begin(job: JobSeen) -> str:
    if job.start_at is None:
        return "Not before the time that was asked for (--begin)."
    # Slurm gives a requeued job such a time too and tells the two apart nowhere in the queue.
    return f"Not before {job.start_at:%Y-%m-%d %H:%M} UTC, as asked (--begin) or after a requeue."


def _limit(code: str, job: JobSeen) -> str:
    """A limit of an account or QOS by the parts of its code: `QOSMaxGRESPerUser`,
    `AssocGrpCPUMinutesLimit`."""
    match = _LIMIT.fullmatch(code)
    if not match:
        return ""
    whose = f"QOS {job.qos}" if match["whose"] == "QOS" else f"account {job.account}"
    what = _WHAT[match["what"]]
    if match["scope"] == "Min":
        return f"Asks fewer {what} than {whose} requires."
    amount = f"{'running ' if match['run'] else ''}minutes of {what}" if match["minutes"] else what
    if match["per"] and match["per"] != "PerUser":
        return f"Asks more {amount} than {whose} allows for {_PER[match['per']]}."
    each = " for each user" if match["per"] else ""
    return f"The limit of {whose} on {amount}{each} is reached."


def _filled(sentence: str, job: JobSeen) -> str:
    several = "," in job.partition
    partition = f"{'partitions' if several else 'partition'} {job.partition.replace(',', ', ')}"
    return sentence.format(
        partition=partition,
        Partition=partition.capitalize() if not several else f"P{partition[1:]}",
        account=job.account or "none",
        qos=job.qos or "none",
        dependency=job.dependency,
    )
