"""A platform whose commands run wherever the class is told: on a real cluster, or from a script."""

from typing import ClassVar

from clusters.provisioner import ClusterRef, Executor
from tests.fakes import FakeProvisioner


class Handed(FakeProvisioner):
    """Everything but its executor is the fake's. Tests set `hands`, one at a time."""

    hands: ClassVar[Executor]

    def __init__(self, ref: ClusterRef) -> None:
        super().__init__(ref)

    def executor(self, login: str = "") -> Executor:  # type: ignore[override]
        return type(self).hands
