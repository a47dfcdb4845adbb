"""An impact in words: the rows that every dialog and the page of a change show, in the order in which one reads them.

Pure. A row has a label, a sentence, names (of nodes, places, partitions), jobs with their number, which may be larger
than the list, and a note in small print; which are empty is up to the row. `is_none` marks the rows that say that
nothing of the kind happens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusters.acts import Does, Fate, PartKind, Touch
from clusters.impact import Impact, JobFate, Loss
from console.words import count, duration, listed

NAMES = {
    PartKind.ACCOUNTING: "accounting",
    PartKind.CONTROLLER: "the controller",
    PartKind.WORKERS: "the workers",
    PartKind.LOGIN: "the login node",
}
REQUEUE = (
    "They go back into the queue and start from their beginning, after two minutes at the earliest. "
    "Those submitted with --no-requeue, and what srun and salloc started, end for good."
)
STRANDED = "They name a partition that goes: Slurm drops them, and they have to be submitted again."
STRANDED_RUNNING = (
    "Slurm ends them at once, as NODE_FAIL: a job does not outlive the partition that it runs in. "
    "To let them end by themselves, set the partition to DRAIN first and delete it when it is empty."
)
IN_PLACE = (
    "What runs and who is signed in goes on, with the programs that it began with. The accounting database and the "
    "queue are copied beforehand: if a part does not start, all go back to that copy, and what came since is forgotten."
)
SESSIONS = "every ssh session, and what was started in them: editors, srun and salloc"
SILENCE = "squeue, sbatch and the other commands do not answer for some seconds, and no job starts"
FOR_GOOD = "its accounting data, job history, changes and revisions: nobody can bring them back"


@dataclass(frozen=True)
class Row:
    label: str
    text: str = ""
    names: tuple[str, ...] = ()
    jobs: tuple[JobFate, ...] = ()
    number: int = 0
    note: str = ""
    is_none: bool = False


def rows_of(impact: Impact) -> tuple[Row, ...]:
    return (
        *_nodes(impact),
        *_mounts(impact),
        *_restarts(impact),
        *_jobs(impact),
        *_sessions(impact),
        *_signed_out(impact),
        *_losses(impact),
        Row("Stays", _stays(impact)),
        *_time(impact),
    )


def summary(impact: Impact) -> str:
    """Behind the verb on a button: `, ending 3 jobs`; empty when nothing ends."""
    stopped, dropped = impact.number(Fate.ENDS, Fate.QUEUED), impact.number(Fate.DROPPED)
    parts = [f"ending {count(stopped, 'job')}"] if stopped else []
    if dropped and impact.sort not in ("terminate", "delete"):
        parts.append(f"dropping {count(dropped, 'waiting job')}")
    if impact.terminals:
        parts.append(f"ending {count(impact.terminals, 'terminal')}")
    return "".join(f", {part}" for part in parts)


def _nodes(impact: Impact) -> Iterator[Row]:
    if comes := impact.nodes_that(Does.COMES):
        yield Row("Adds", count(len(comes), "node"), _named(impact, comes))
    if goes := impact.nodes_that(Does.GOES):
        waits = impact.touched(Does.GOES)[0].jobs is Fate.AWAITED
        note = "No new job starts there from now on; each goes when its jobs have ended." if waits else ""
        yield Row("Removes", count(len(goes), "node"), _named(impact, goes), note=note)
    if closes := impact.nodes_that(Does.CLOSES):
        yield Row(
            "Drains", count(len(closes), "node"), _named(impact, closes), note="No new job starts there."
        )
    if opens := impact.nodes_that(Does.OPENS):
        note = "The scheduler may start jobs there at once."
        yield Row("Resumes", count(len(opens), "node"), _named(impact, opens), note=note)
    if impact.partitions_gone:
        gone = impact.partitions_gone
        note = "Its nodes stay in their other partitions." if not impact.nodes_that(Does.GOES) else ""
        yield Row("Takes away", f"the partition{'s' if len(gone) > 1 else ''}", gone, note=note)


def _mounts(impact: Impact) -> Iterator[Row]:
    goes_on = (
        "What runs there goes on with the volumes that it began with." if impact.touched(Does.MOUNTS) else ""
    )
    if impact.mounted:
        yield Row("Mounts", "on the login node and every worker, at", impact.mounted, note=goes_on)
    if impact.unmounted:
        note = f"What is on the volume stays there. {goes_on}".strip()
        yield Row("Unmounts", "from the login node and every worker, at", impact.unmounted, note=note)


def _restarts(impact: Impact) -> Iterator[Row]:
    if stops := impact.touched(Does.STOPS):
        workers = count(len(impact.nodes_that(Does.STOPS)), "node")
        others = [NAMES[touch.part] for touch in stops if touch.part is not PartKind.WORKERS]
        yield Row("Stops", listed([f"all {workers}", *others]))
    for touch in impact.touched(Does.RUNS):
        is_worker = touch.part is PartKind.WORKERS
        where = f"on {count(len(touch.nodes), 'worker')}" if is_worker else "on the login node"
        note = "What runs there goes on. If it fails there, the change is taken back."
        yield Row("Runs", f"the init script {where}, at once", _named(impact, touch.nodes), note=note)
    restarts = impact.touched(Does.RESTARTS)
    for touch in restarts:
        is_first = touch is restarts[0]
        names = _named(impact, touch.nodes) if touch.part is PartKind.WORKERS else ()
        yield Row("Restarts" if is_first else "Then", _restart(touch), names)
    if upgraded := impact.touched(Does.UPGRADES):
        what = [_whole(touch) for touch in upgraded]
        yield Row("Upgrades", f"{', then '.join(what)}: each starts anew in place", note=IN_PLACE)
    if (impact.renews(PartKind.CONTROLLER) or upgraded) and not stops:
        yield Row("Meanwhile", SILENCE)
    if reads := impact.touched(Does.READS):
        what = [NAMES[touch.part] for touch in reads if touch.part is not PartKind.WORKERS]
        nodes = impact.nodes_that(Does.READS)
        what += [count(len(nodes), "worker")] if nodes else []
        if what:
            yield Row("Reads again", f"{listed(what)}: the configuration, without a restart")


def _restart(touch: Touch) -> str:
    if touch.part is not PartKind.WORKERS:
        return NAMES[touch.part]
    nodes = count(len(touch.nodes), "worker")
    pace = f", in this order, {touch.at_once} at a time" if touch.at_once else ""
    if touch.jobs is Fate.AWAITED:
        pace = pace or (", some at a time" if touch.is_rolling else "")
        return f"{nodes}{pace}: each takes no new jobs, and restarts when its own have ended"
    if pace:
        return f"{nodes}{pace}: the next ones when those before them are back, with the jobs that they have by then"
    return f"{nodes} at once" if len(touch.nodes) > 1 else nodes


def _whole(touch: Touch) -> str:
    return count(len(touch.nodes), "worker") if touch.part is PartKind.WORKERS else NAMES[touch.part]


def _jobs(impact: Impact) -> Iterator[Row]:
    dropped = impact.number(Fate.DROPPED)
    if impact.ends:
        stranded = bool(impact.partitions_gone) and not impact.nodes_that(Does.GOES, Does.RESTARTS)
        yield _listed("Ends", impact, Fate.ENDS, STRANDED_RUNNING if stranded else "")
    if impact.queued:
        yield _listed("Ends", impact, Fate.QUEUED, REQUEUE)
    if impact.running_out:
        yield _listed("Goes on", impact, Fate.RUNS_OUT)
    if impact.awaited:
        yield _listed("Waits for", impact, Fate.AWAITED, _until(impact))
    if dropped and impact.sort in ("terminate", "delete"):
        yield Row("Never start", count(dropped, "waiting job"))
    elif dropped:
        yield _listed("Leave the queue", impact, Fate.DROPPED, STRANDED if impact.partitions_gone else "")
    if not impact.stopped and not dropped:
        yield Row("Ends", "no job", is_none=True)


def _listed(label: str, impact: Impact, fate: Fate, note: str = "") -> Row:
    jobs = tuple(job for job in impact.jobs if job.fate is fate)
    return Row(label, jobs=jobs, number=impact.number(fate), note=note)


def _until(impact: Impact) -> str:
    if impact.until is None:
        return "At least one has no time limit, so the wait may be long. It has no deadline and can be cancelled."
    if any(touch.at_once for touch in impact.touches):
        return (
            f"These end by {impact.until:%Y-%m-%d %H:%M} UTC. A node takes new jobs until it is its turn, so it may "
            "take longer. The wait can be cancelled."
        )
    return f"Until {impact.until:%Y-%m-%d %H:%M} UTC at the latest. The wait can be cancelled."


def _sessions(impact: Impact) -> Iterator[Row]:
    if not impact.renews(PartKind.LOGIN):
        return
    known = impact.terminals is not None
    open_here = count(impact.terminals or 0, "open terminal") if known else "open terminals"
    mine = f"{open_here} of this console, " if impact.terminals or not known else ""
    yield Row("Sessions", f"{mine}{SESSIONS}, end")


def _signed_out(impact: Impact) -> Iterator[Row]:
    if impact.signed_out:
        yield Row("Signs out", "of the login node, terminals of this console included:", impact.signed_out)
    if impact.homes_deleted:
        yield Row("Deletes", "for good, with every file in it:", impact.homes_deleted)


def _losses(impact: Impact) -> Iterator[Row]:
    if impact.sort == "delete":
        yield Row("Lost", FOR_GOOD)
    for loss in impact.losses:
        yield Row("Lost", f"files on {_where(loss)}, in", loss.places)
    if not impact.losses and not impact.homes_deleted and impact.sort != "delete":
        yield Row("Lost", "no file", is_none=True)


def _where(loss: Loss) -> str:
    if loss.part is not PartKind.WORKERS:
        return NAMES[loss.part]
    return listed(list(loss.nodes), 4)


def _stays(impact: Impact) -> str:
    if impact.sort == "delete":
        return "volumes, and the audit trail of what was done"
    lost = {place for loss in impact.losses for place in loss.places}
    homes = "volumes" if "/home" in lost else "homes and volumes"
    homes = "other homes, volumes" if impact.homes_deleted else homes
    if impact.sort == "terminate":
        return f"the record with its changes, the accounting data, {homes}"
    running = [f"{count(impact.running, 'running job goes', 'running jobs go')} on"] if impact.running else []
    queue = f"{count(impact.waiting, 'waiting job')} in the queue" if impact.waiting else "the queue"
    others = "others' terminals" if impact.signed_out else "open terminals"
    terminals = [] if impact.renews(PartKind.LOGIN) else [others]
    text = ", ".join([*running, queue, "accounting", homes, *terminals])
    if impact.nodes_that(Does.RESTARTS):
        return f"{text}. A node that was drained stays drained."
    return text


def _time(impact: Impact) -> Iterator[Row]:
    if impact.takes_s is not None:
        wait = ", and the wait for jobs before that" if impact.awaited else ""
        yield Row("Takes", f"about {duration(max(1.0, impact.takes_s))}, as the last ones did{wait}")


def _named(impact: Impact, nodes: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{impact.machines[name]} ({name})" if impact.machines.get(name) else name for name in nodes)
