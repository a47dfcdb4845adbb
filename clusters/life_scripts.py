"""The life scripts of a cluster: which there are, when each runs, and what may be one. Pure.

A script is text in `ClusterSpec.scripts`, empty where there is none. Its file is named by its content, so that a daemon
that has not read the new configuration yet goes on with the file that it knows, and what runs can be told from the
configuration that is read back. When Slurm runs them and what a failure does: slurm.conf(5), "Prolog and Epilog
Scripts" (22.05 to 26.05).
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from clusters.spec import LifeScripts
from console.errors import Problem

MOST_BYTES = 64 * 1024
# Linux reads this much of a file to find its interpreter (execve(2): 127 bytes before 5.1).
MOST_SHEBANG_BYTES = 127
FIELD = "scripts"
_SHEBANG = re.compile(r"#![ \t]*/[^\s/][^\s]*([ \t].*)?")


class Hook(StrEnum):
    """The values are the fields of `LifeScripts`."""

    WORKER_INIT = "worker_init"
    LOGIN_INIT = "login_init"
    WORKER_PROLOG = "worker_prolog"
    WORKER_EPILOG = "worker_epilog"
    CONTROLLER_PROLOG = "controller_prolog"
    CONTROLLER_EPILOG = "controller_epilog"


@dataclass(frozen=True)
class About:
    """A hook in words. `key` is its line in slurm.conf, empty for the two that are no business of Slurm's."""

    title: str
    stem: str
    when: str
    failure: str
    key: str = ""


ABOUT: dict[Hook, About] = {
    Hook.WORKER_INIT: About(
        "Worker init",
        "worker-init",
        "On each worker as it starts, as root, within a minute.",
        "The worker does not come up, and it is tried again.",
    ),
    Hook.LOGIN_INIT: About(
        "Login init",
        "login-init",
        "On the login node as it starts, as root, within a minute.",
        "Nobody can sign in there, and it is tried again.",
    ),
    Hook.WORKER_PROLOG: About(
        "Worker prolog",
        "prolog",
        "On a node before the first step of a job there, as root.",
        "The node is drained; a batch job goes back into the queue and is held there, any other is cancelled.",
        "Prolog",
    ),
    Hook.WORKER_EPILOG: About(
        "Worker epilog",
        "epilog",
        "On every node of a job after its end, as root.",
        "The node is drained.",
        "Epilog",
    ),
    Hook.CONTROLLER_PROLOG: About(
        "Controller prolog",
        "prolog-slurmctld",
        "Beside the controller as a job gets its nodes, as Slurm's user.",
        "A batch job goes back into the queue, any other is cancelled; no node is drained.",
        "PrologSlurmctld",
    ),
    Hook.CONTROLLER_EPILOG: About(
        "Controller epilog",
        "epilog-slurmctld",
        "Beside the controller after a job's end, as Slurm's user.",
        "It is only logged.",
        "EpilogSlurmctld",
    ),
}
OF_JOBS = tuple(hook for hook in Hook if ABOUT[hook].key)
FILE_NAME = re.compile(rf"({'|'.join(about.stem for about in ABOUT.values())})-([0-9a-f]{{12}})\.sh")


def script_of(scripts: LifeScripts, hook: Hook) -> str:
    """Its text; empty where there is none."""
    text: str = getattr(scripts, hook.value)
    return text


def version_of(text: str) -> str:
    """Twelve hexadecimal digits that stand for the text; empty for none."""
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""


def file_of(scripts: LifeScripts, hook: Hook) -> str:
    """The name of its file; empty where there is none."""
    version = version_of(script_of(scripts, hook))
    return f"{ABOUT[hook].stem}-{version}.sh" if version else ""


def version_in(path: str) -> str:
    """The version that a file's path tells; empty for what is no script of a cluster."""
    found = FILE_NAME.fullmatch(path.rpartition("/")[2])
    return found[2] if found else ""


def files_of(scripts: LifeScripts, *hooks: Hook) -> dict[str, str]:
    """Texts by the names of their files: of these hooks, or of all."""
    return {file_of(scripts, hook): text for hook in hooks or Hook if (text := script_of(scripts, hook))}


def script_problems(scripts: LifeScripts) -> Iterator[Problem]:
    """At `scripts.<hook>`, with the line where there is one. Control characters are looked for with all other text."""
    for hook in Hook:
        if text := script_of(scripts, hook):
            yield from _problems(text, f"{FIELD}.{hook}")


def _problems(text: str, path: str) -> Iterator[Problem]:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        yield Problem(path, "This is no UTF-8 text.", "Save it as UTF-8 and paste it again.")
        return
    if size > MOST_BYTES:
        yield Problem(
            path,
            f"At most {MOST_BYTES // 1024} KiB, not {-(-size // 1024)}.",
            "Put what is large on a volume, and call it from here.",
        )
    first = text.split("\n", 1)[0]
    if not _SHEBANG.fullmatch(first):
        yield Problem(
            path,
            "The first line must name the program that runs it.",
            "Begin with #!/bin/bash or another absolute path after #!.",
            1,
        )
    elif len(first.encode()) > MOST_SHEBANG_BYTES:
        yield Problem(
            path, f"The first line may have {MOST_SHEBANG_BYTES} bytes.", "Linux reads no more of it.", 1
        )
    if not text.endswith("\n"):
        yield Problem(path, "The last line has no end.", "End it with a line feed.", text.count("\n") + 1)


def as_typed(text: str) -> str:
    """From a form or a script: line ends as browsers and Windows send them are taken as plain ones, one at the end."""
    lines = text.replace("\r\n", "\n").rstrip()
    return f"{lines}\n" if lines else ""
