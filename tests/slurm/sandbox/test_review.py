"""The review of slurm.conf before a real shadow controller: what only a daemon can find, at the line people see."""

from pathlib import Path

import pytest

from clusters.models import Cluster
from slurm import configuration
from slurm.configuration import read, review
from slurm.provisioners.sandbox import adapter
from slurm.provisioners.sandbox.images import Tree
from slurm.render import DEFAULT_USER_CONF
from tests.slurm.job_rows import make_cluster
from tests.slurm.sandbox.bad_lines import BAD

pytestmark = pytest.mark.django_db


@pytest.fixture
def sandboxed(tree: Tree, settings, tmp_path: Path) -> Cluster:
    """A cluster of the sandbox that has a revision and does not run: a review needs no more."""
    settings.VAR_DIR = tmp_path
    return make_cluster(slug="reviewed")


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without our own catalogue, so that the daemon alone is left to find it."""
    monkeypatch.setattr(configuration, "check_conf", lambda *args, **kwargs: ())
    monkeypatch.setattr(adapter, "check_conf", lambda *args, **kwargs: ())


@pytest.mark.parametrize("line", BAD)
@pytest.mark.usefixtures("blind")
def test_the_daemon_finds_it_at_its_line_of_the_whole_file(sandboxed: Cluster, line: str) -> None:
    text = read(sandboxed).with_settings(f"{DEFAULT_USER_CONF}{line}\n")
    found = review(sandboxed, text, base=1, shadow=True)
    blocking = [problem for problem in found.problems if problem.blocking]
    assert blocking and text.split("\n")[(blocking[0].line or 0) - 1] == line, found.problems
    assert BAD[line] in blocking[0].message


def test_a_plugin_that_is_not_installed_is_left_to_the_daemon_and_found(sandboxed: Cluster) -> None:
    text = read(sandboxed).with_settings(f"{DEFAULT_USER_CONF}JobCompType=jobcomp/kafka\n")
    assert not review(sandboxed, text, base=1, shadow=False).is_refused
    found = review(sandboxed, text, base=1, shadow=True)
    assert found.is_refused and "jobcomp/kafka" in found.problems[-1].message


def test_good_settings_pass_with_the_shadow_too(sandboxed: Cluster) -> None:
    text = read(sandboxed).with_settings(DEFAULT_USER_CONF.replace("KillWait=30", "KillWait=45"))
    assert not review(sandboxed, text, base=1, shadow=True).is_refused
