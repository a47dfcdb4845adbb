"""Another image is part of the desired state: what runs then says so of itself, and until the next change it can be
undone. What an upgrade does part by part is in `tests/slurm/sandbox/test_upgrade.py`.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from clusters.acts import Edit, PartKind, upgrades
from clusters.observation import Verdict
from clusters.spec import ClusterSpec
from tests.contracts.platforms import SPEC, Platform
from tests.contracts.test_setbacks import is_cut_short

pytestmark = pytest.mark.timeout(300)
NEW = replace(SPEC, image="slurm-26-05", slurm_version="26.05")


@pytest.fixture
def old(platform: Platform) -> Iterator[Platform]:
    """A cluster of the older image. It ends with the test: none goes back for good."""
    platform.make()
    yield platform
    platform.provisioner.terminate(lambda text: None)
    platform.provisioner.destroy(lambda text: None)


def releases(platform: Platform) -> set[str]:
    return {node.version.rpartition(".")[0] for node in platform.provisioner.observe().nodes or ()}


def is_so(platform: Platform, spec: ClusterSpec) -> bool:
    return platform.provisioner.judge(spec).verdict is Verdict.DONE and releases(platform) == {
        spec.slurm_version
    }


def test_another_image_runs_everywhere_and_touches_what_was_foreseen(old: Platform) -> None:
    provisioner, act = old.provisioner, Edit(SPEC, NEW)
    assert upgrades(act) and PartKind.CONTROLLER in {touch.part for touch in provisioner.foresee(act)}
    assert [problem for problem in provisioner.check(NEW) if problem.blocking] == []
    assert is_so(old, SPEC) and provisioner.judge(NEW).verdict is not Verdict.DONE
    job = old.occupy("slinky-0")
    old.apply(NEW)
    old.settle(NEW)
    assert is_so(old, NEW) and provisioner.judge(SPEC).verdict is not Verdict.DONE
    assert old.runs(job)
    old.vacate(job)
    # Again is the same, and what comes next is a change of the new image.
    old.apply(NEW)
    old.settle(NEW)
    longer = NEW.with_slurm_conf("MaxJobCount=30000\n")
    old.make(longer)
    assert is_so(old, longer)


def test_another_image_that_was_cut_short_is_completed_or_taken_back(old: Platform) -> None:
    job = old.occupy("slinky-0")
    assert is_cut_short(old, NEW, 1)
    old.apply(SPEC)
    old.settle(SPEC)
    assert is_so(old, SPEC) and old.runs(job)
    assert is_cut_short(old, NEW, 2)
    old.apply(NEW)
    old.settle(NEW)
    assert is_so(old, NEW) and old.runs(job)
