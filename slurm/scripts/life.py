"""The life scripts of a cluster as people edit them: what is there, what a text would mean, and asking for it.

The acts behind the Scripts page and the API. Nothing here touches the cluster: `propose_script` asks for a change.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusters import changes
from clusters.access import Door
from clusters.acts import Edit
from clusters.file_diff import FileDiff, file_diffs
from clusters.life_scripts import (
    ABOUT,
    FIELD,
    MOST_BYTES,
    OF_JOBS,
    About,
    Hook,
    as_typed,
    file_of,
    script_of,
    version_of,
)
from clusters.models import Change, Cluster, Revision
from clusters.spec import ClusterSpec
from clusters.validate import validate
from clusters.when import When
from console.errors import Conflict, Missing, Problem
from console.words import listed
from slurm.scripts.shellcheck import shellcheck

# Commands that ask the controller. It waits for the script, and holds locks meanwhile that they wait for in turn
# (slurm.conf(5), "Prolog and Epilog Scripts").
_ASKS_SLURM = re.compile(
    r"^[^#\n]*?\b(sacct|sacctmgr|salloc|sbatch|scancel|scontrol|sdiag|sinfo|sprio|squeue|srun|sshare)\b", re.M
)


@dataclass(frozen=True)
class Script:
    """One hook of a revision. `version` and `file` are empty where there is no script."""

    hook: Hook
    about: About
    text: str
    version: str
    file: str
    revision: int

    @property
    def lines(self) -> int:
        return self.text.count("\n")


@dataclass(frozen=True)
class Review:
    """What a text would mean in the place of the one that is there. `text` is empty where the script goes."""

    script: Script
    text: str
    problems: tuple[Problem, ...]
    diff: FileDiff | None
    edit: Edit

    @property
    def is_refused(self) -> bool:
        return any(problem.blocking for problem in self.problems)

    @property
    def version(self) -> str:
        return version_of(self.text)


def scripts(cluster: Cluster) -> tuple[Script, ...]:
    """Every hook of the current revision; of the newest one while none has been committed yet. Quick."""
    revision = cluster.revision or cluster.revisions.latest("number")
    return tuple(_script(revision, hook) for hook in Hook)


def script(cluster: Cluster, name: str, *, base: int | None = None) -> Script:
    """One hook by its name, of the revision `base`, else of the current one. Raises Missing for no such hook, and
    Conflict for no such revision."""
    hook = next((hook for hook in Hook if hook == name), None)
    if hook is None:
        raise Missing(
            f"There is no script {name[:60]!r}.", f"There are {listed([each.value for each in Hook])}."
        )
    revision = cluster.revision or cluster.revisions.latest("number")
    return _script(revision if base is None else _revision(cluster, base), hook)


def review(cluster: Cluster, name: str, text: str, *, base: int | None) -> Review:
    """What speaks against it, ShellCheck's advice included, and how it differs. Raises as `script` does."""
    before = script(cluster, name, base=base)
    text = as_typed(text)
    spec = _revision(cluster, before.revision).parsed
    after = _with(spec, before.hook, text)
    path = f"{FIELD}.{before.hook}"
    problems = tuple(problem for problem in validate(after) if problem.path == path)
    if not any(problem.blocking for problem in problems):
        problems = (*problems, *_advice(before.hook, text, path))
    return Review(before, text, problems, _diff(before, text), Edit(spec, after))


def propose_script(door: Door, name: str, text: str, base: int | None, *, start_at: When = None) -> Change:
    """Ask for the change; an empty text takes the script away. Raises what `clusters.changes.propose` raises."""
    found = review(door.cluster, name, text, base=base)
    spec = found.edit.after
    return changes.propose(door.cluster, spec, base=base, by=door.membership, start_at=start_at)


def _script(revision: Revision, hook: Hook) -> Script:
    spec = revision.parsed
    text = script_of(spec.scripts, hook)
    return Script(hook, ABOUT[hook], text, version_of(text), file_of(spec.scripts, hook), revision.number)


def _with(spec: ClusterSpec, hook: Hook, text: str) -> ClusterSpec:
    return spec.with_scripts(replace(spec.scripts, **{hook.value: text}))


def _diff(before: Script, text: str) -> FileDiff | None:
    """None where nothing differs, and for what is too long to be a script: its lines are not compared."""
    if len(text) > MOST_BYTES:
        return None
    old, new = ({before.about.title: one} if one else {} for one in (before.text, text))
    return next(iter(file_diffs(old, new)), None)


def _advice(hook: Hook, text: str, path: str) -> Iterator[Problem]:
    if hook in OF_JOBS and (asks := _ASKS_SLURM.search(text)):
        yield Problem(
            path,
            f"{asks[1]} asks the controller, which is busy with this script's job.",
            "Slurm advises against its own commands here: many jobs at once can hold each other up.",
            text.count("\n", 0, asks.start(1)) + 1,
            blocking=False,
        )
    yield from shellcheck(text, path=path)


def _revision(cluster: Cluster, number: int) -> Revision:
    found = cluster.revisions.filter(number=number).first()
    if found is None:
        raise Conflict(
            f"{cluster.slug} has no revision {number}.",
            "Say which revision you began with; open the page again.",
        )
    return found
