#!/usr/bin/env python3
"""Turns a fresh checkout into one that runs: `python3 deploy/prepare.py run|test|kube|vendor`.

Needs the standard library only, as it runs before anything is installed, and this file must be readable by old
Pythons, so that one too old gets a sentence and not a syntax error.
"""

# ruff: noqa: UP031 - old Pythons must be able to read this file

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEEDED = (3, 11)


def main(arguments):
    if sys.version_info < NEEDED:
        found = "%d.%d" % sys.version_info[:2]
        sys.stderr.write(
            "quarterdeck: Python %d.%d or newer is needed and %s is %s: install a newer one and name it, "
            "for example make run PYTHON=python3.12\n" % (NEEDED[0], NEEDED[1], sys.executable, found)
        )
        return 1
    # Whatever the shell's: daemons under users of their own look for their programs in what is prepared here.
    os.umask(0o022)
    sys.path[:0] = [ROOT, os.path.join(ROOT, "deploy")]
    sys.dont_write_bytecode = True
    import goals

    return goals.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
