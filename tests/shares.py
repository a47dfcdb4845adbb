"""What each of several processes that share the tests (pytest-xdist) is handed: whole files, or whole directories.

xdist has groups of its own, which it writes into the names of the tests; pytest 9.2 no longer reads what it writes.
"""

from collections.abc import Iterator
from itertools import groupby

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Directories whose tests share what is expensive to start: a demo, a cluster, a Kubernetes.
TOGETHER = (
    "tests/contracts/",
    "tests/demo/",
    "tests/kube/",
    "tests/slurm/live/",
    "tests/slurm/sandbox/",
    "tests/slurm/terminal/",
    "tests/slurm/truth/",
)


class Shares(LoadScopeScheduling):
    """Shares are handed out in the order of their first tests, so that what was sorted to the end stays there: a file
    whose tests were sorted apart makes two shares.
    """

    def schedule(self) -> None:
        if self.collection is None:
            self.config.option.loadscopereorder = False
            self._share_of = dict(shares(next(iter(self.registered_collections.values()))))
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._share_of[nodeid]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Shares:
    return Shares(config, log)


def shares(names: list[str]) -> Iterator[tuple[str, str]]:
    """Each test's name with its share's."""
    for number, (place, together) in enumerate(groupby(names, _place)):
        for name in together:
            yield name, f"{place} {number}"


def _place(name: str) -> str:
    return next((directory for directory in TOGETHER if name.startswith(directory)), name.split("::")[0])
