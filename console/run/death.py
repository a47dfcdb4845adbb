"""Ending with the parent: a child that outlives the one who started it would be found by nobody.

Linux only (prctl(2)).
"""

import ctypes
import os
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(signum: int) -> Callable[[], None]:
    """For `preexec_fn`: the child gets the signal when this thread's process dies, by `kill -9` too.

    A later change of user clears it. Only for programs that start children from one thread, as preexec_fn demands.
    """
    parent = os.getpid()

    def arrange() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(signum), 0, 0, 0)
        if os.getppid() != parent:  # it died before the arrangement stood
            os._exit(1)

    return arrange


def follow_parent(signum: int) -> None:
    """This process itself gets the signal when its present parent dies."""
    LIBC.prctl(PR_SET_PDEATHSIG, int(signum), 0, 0, 0)


def adopt_orphans() -> None:
    """What our children leave when they die comes to us instead of init, so that nothing outlives the run unseen."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
