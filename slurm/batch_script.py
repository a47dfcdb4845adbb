"""Batch scripts before they are sent: the template, what the #SBATCH lines ask for, and what would go wrong.

Pure. sbatch reads directives from the lines that begin with `#SBATCH` up to the first command (sbatch(1)); the quick
fields of the page rewrite those lines in the browser, the checks here read them again. Problems stop a submission,
advice asks once.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from console.errors import Problem
from slurm.outputs.values import parse_duration_s
from slurm.times import DurationError, parse_time

MOST_BYTES = 256 * 1024
DIRECTIVE = re.compile(r"#SBATCH\s+(.*)")
OPTION = re.compile(r"(--[a-z-]+|-[A-Za-z])(?:[= ]?(.*))?")
# Short options that mean one of the long ones read here (sbatch(1)).
LONG = {
    "-J": "--job-name",
    "-p": "--partition",
    "-N": "--nodes",
    "-G": "--gpus",
    "-t": "--time",
    "-o": "--output",
    "-e": "--error",
    "-D": "--chdir",
    "-n": "--ntasks",
    "-c": "--cpus-per-task",
    "-a": "--array",
    "-w": "--nodelist",
}
# Directories of the node the job runs on: gone with it, or cleared after the job.
LOST = ("/tmp", "/dev/shm", "/var/tmp")
# Pyxis's options, not Slurm's own --container.
CONTAINER = re.compile(r"--(no-)?container-[a-z-]+")

TEMPLATE = """#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --partition={partition}
#SBATCH --nodes=1
#SBATCH --gpus-per-node={gpus}
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out

srun hostname
"""


@dataclass(frozen=True)
class Asked:
    """What the directives ask for. Options that are not given are absent."""

    options: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def gpus_per_node(self) -> int | None:
        given = self.options.get("--gpus-per-node") or self._gres_gpus()
        found = re.fullmatch(r"(?:[A-Za-z][\w-]*:)?(\d+)", given or "")
        return int(found[1]) if found else None

    @property
    def nodes(self) -> int | None:
        found = re.match(r"\d+", self.options.get("--nodes", ""))
        return int(found[0]) if found else None

    @property
    def limit_s(self) -> int | None:
        given = self.options.get("--time", "")
        return int(given) * 60 if given.isdigit() else parse_duration_s(given)

    def _gres_gpus(self) -> str:
        found = re.search(r"(?:^|,)gpu(?::[A-Za-z][\w-]*)?:(\d+)", self.options.get("--gres", ""))
        return found[1] if found else ""


@dataclass(frozen=True)
class Room:
    """What a partition offers: nodes, the most GPUs of one node, and its time limit (None is none)."""

    nodes: int
    gpus_per_node: int
    limit_s: int | None = None


def template(partition: str, gpus: int) -> str:
    """A script to begin with. Both values come from the cluster, never from a person."""
    return TEMPLATE.format(name="hello", partition=partition, gpus=gpus)


def asked(script: str) -> Asked:
    """The options of the #SBATCH lines that sbatch will read; where one is repeated the last counts."""
    options: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(script.splitlines(), 1):
        found = DIRECTIVE.fullmatch(line)
        if found:
            for name, value in _options(found[1]):
                options[name], lines[name] = value, number
        elif line.strip() and not line.startswith("#"):
            break
    return Asked(options, lines)


def _options(text: str) -> list[tuple[str, str]]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError:  # an open quote; sbatch says so itself
        return []
    found: list[tuple[str, str]] = []
    for word in words:
        option = OPTION.fullmatch(word)
        if option:
            found.append((LONG.get(option[1], option[1]), option[2] or ""))
        elif found and not found[-1][1]:
            found[-1] = (found[-1][0], word)
    return found


def problems(
    script: str, partitions: Mapping[str, Room], *, containers: bool | None = None
) -> tuple[Problem, ...]:
    """Everything that would go wrong, blocking ones first. `partitions` are those of the cluster, by name; `containers`
    is whether its srun knows the options of Pyxis, None while that is not known."""
    if not script.strip():
        return (_stop("Write a script: what should run?", "It begins with #!/bin/bash."),)
    size = len(script.encode(errors="replace"))
    if size > MOST_BYTES:
        text = f"A script may have {MOST_BYTES // 1024} KiB; this one has {-(-size // 1024)} KiB."
        return (_stop(text, "Put data into files and read them from the script."),)
    want = asked(script)
    found = [*_shape(script), *_times(want), *_places(want), *_fit(want, partitions)]
    found += _containers(script, want) if containers is False else []
    return tuple(sorted(found, key=lambda problem: not problem.blocking))


def _shape(script: str) -> list[Problem]:
    found = []
    if not script.startswith("#!"):
        found.append(_stop("The first line must name the interpreter.", "Begin with #!/bin/bash.", 1))
    if "\0" in script:
        found.append(_stop("The script holds a NUL byte.", "Paste it again as text."))
    late = _late_directive(script)
    if late:
        found.append(
            _warn("This #SBATCH line comes after a command, so sbatch ignores it.", "Move it up.", late)
        )
    return found


def _late_directive(script: str) -> int | None:
    started = False
    for number, line in enumerate(script.splitlines(), 1):
        if started and DIRECTIVE.fullmatch(line):
            return number
        started = started or bool(line.strip() and not line.startswith("#"))
    return None


def _times(want: Asked) -> list[Problem]:
    try:
        parse_time(want.options.get("--time", "") or "0")
    except DurationError as error:
        return [_stop(f"{error}."[:300], "Such as 90, 1:30:00 or 1-00:00:00.", want.lines["--time"])]
    return []


def _places(want: Asked) -> list[Problem]:
    found = []
    if re.fullmatch(r"0[KMGT]?", want.options.get("--mem", "")):
        text = (
            "--mem=0 takes all memory of each node, so no other job fits beside it, whatever GPUs are free."
        )
        found.append(_warn(text, "Ask for what it needs, for example --mem=64G.", want.lines["--mem"]))
    for option in ("--output", "--error"):
        path = want.options.get(option, "")
        if any(path == place or path.startswith(f"{place}/") for place in LOST):
            text = f"{path} is on the node the job runs on: it is lost when the node restarts, and not seen from here."
            found.append(_warn(text, "Write to your home or to a volume.", want.lines[option]))
    return found


def _containers(script: str, want: Asked) -> list[Problem]:
    """sbatch refuses an option that it does not know; of a command in the script only srun says so, when it runs."""
    hint = "Enroot and Pyxis are not in this cluster's image: leave it out, or use an image that has them."
    if name := next((name for name in want.options if CONTAINER.fullmatch(name)), None):
        return [_stop(f"This cluster knows no {name}.", hint, want.lines[name])]
    for number, line in enumerate(script.splitlines(), 1):
        if not line.lstrip().startswith("#") and (option := CONTAINER.search(line)):
            return [_warn(f"srun of this cluster knows no {option[0]}.", hint, number)]
    return []


def _fit(want: Asked, partitions: Mapping[str, Room]) -> list[Problem]:
    if not partitions:
        return []  # not looked at yet: Slurm will say
    names = [name for name in want.options.get("--partition", "").split(",") if name]
    unknown = [name for name in names if name not in partitions]
    if unknown:
        known = f"There are {', '.join(sorted(partitions))}."
        return [_stop(f"There is no partition {unknown[0][:60]}.", known, want.lines["--partition"])]
    reasons = [_misfit(want, name, partitions[name]) for name in names]
    # Several partitions: it is enough that one has room.
    return [reasons[0]] if reasons and all(reasons) and reasons[0] else []


def _misfit(want: Asked, name: str, room: Room) -> Problem | None:
    gpus, nodes, limit_s = want.gpus_per_node, want.nodes, want.limit_s
    if gpus is not None and gpus > room.gpus_per_node:
        text = f"Asks {gpus} GPUs on one node; the largest of partition {name} has {room.gpus_per_node}."
        line = _line(want, "--gpus-per-node", "--gres")
        return _warn(text, "Use more nodes or fewer GPUs: as it is, it would never run.", line)
    if nodes is not None and nodes > room.nodes:
        text = f"Asks {nodes} nodes; partition {name} has {room.nodes}."
        return _warn(text, "As it is, it would never run.", _line(want, "--nodes"))
    if limit_s is not None and room.limit_s is not None and limit_s > room.limit_s:
        text = f"Asks for more time than partition {name} allows, {room.limit_s // 60} minutes."
        return _warn(text, "Ask for less, or use another partition.", _line(want, "--time"))
    return None


def _line(want: Asked, *options: str) -> int | None:
    return next((want.lines[option] for option in options if option in want.lines), None)


def _stop(message: str, hint: str, line: int | None = None) -> Problem:
    return Problem("script", message, hint, line)


def _warn(message: str, hint: str, line: int | None = None) -> Problem:
    return Problem("script", message, hint, line, blocking=False)
