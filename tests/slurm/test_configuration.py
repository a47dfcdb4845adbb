"""The configuration's acts: what a text would mean, at the lines that the person sees, and asking for it."""

from dataclasses import replace

import pytest

from clusters.access import Door
from clusters.changes import propose
from clusters.conflicts import StaleBase
from clusters.models import Cluster
from clusters.spec import PartitionSpec
from console.errors import Conflict, Forbidden, Problem, Rejected, Unavailable
from slurm.configuration import propose_conf, read, review
from slurm.parameters import Cost
from slurm.render import BEGIN, END
from tests.cast import Cast, fake, the_cast, tiny_cluster, tiny_spec
from tests.slurm.job_rows import make_job
from tests.slurm.test_bad_configurations import USERS_PART

pytestmark = pytest.mark.django_db
MINE = "# ours\nKillWait=30\nMinJobAge=300\n"


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team, spec=tiny_spec(slurm_conf=MINE))


@pytest.fixture
def door(cluster: Cluster, cast: Cast) -> Door:
    return Door(cluster, cast.ada)


def edited(cluster: Cluster, settings: str) -> str:
    return read(cluster).with_settings(settings)


# Reading


def test_the_whole_file_is_read_with_the_lines_that_are_ours(cluster: Cluster) -> None:
    conf = read(cluster)
    lines = conf.text.split("\n")
    assert conf.settings == MINE
    assert lines[conf.first_line - 2] == BEGIN and lines[conf.last_line] == END
    assert "PartitionName=debug" in conf.text and conf.revision == 1


def test_an_empty_block_can_be_filled(cast: Cast) -> None:
    cluster = tiny_cluster(cast.team, spec=tiny_spec(slurm_conf=""))
    conf = read(cluster)
    assert conf.last_line < conf.first_line and conf.settings == ""
    found = review(cluster, conf.with_settings("KillWait=31\n"), base=1, shadow=False)
    assert found.settings == "KillWait=31\n" and not found.is_refused


@pytest.mark.parametrize("ours", ["", "\n", "KillWait=1", "KillWait=1\n\n\n", MINE])
def test_a_block_put_into_the_file_is_read_back_as_it_was(cluster: Cluster, ours: str) -> None:
    found = review(cluster, edited(cluster, ours), base=1, shadow=False)
    assert found.settings == (ours if ours.endswith("\n") or not ours else f"{ours}\n")
    assert not [problem for problem in found.problems if "platform" in problem.message]


# Reviewing


def test_the_file_as_it_is_changes_nothing(cluster: Cluster) -> None:
    found = review(cluster, read(cluster).text, base=1, shadow=True)
    assert not found.problems and not found.changed and found.cost is Cost.NONE


def test_line_ends_of_browsers_change_nothing(cluster: Cluster) -> None:
    assert not review(cluster, read(cluster).text.replace("\n", "\r\n"), base=1, shadow=False).changed


@pytest.mark.parametrize("name", USERS_PART)
def test_bad_configurations_are_refused_at_their_line_of_the_whole_file(cluster: Cluster, name: str) -> None:
    bad, key = USERS_PART[name]
    text = edited(cluster, MINE.replace("KillWait=30\n", "") + bad + "\n")
    found = review(cluster, text, base=1, shadow=True)
    (problem,) = [problem for problem in found.problems if problem.blocking]
    assert problem.line and text.split("\n")[problem.line - 1] == bad.split("\n")[-1]
    assert problem.message.startswith(f"Line {problem.line}: ") and key in problem.message
    assert "check" not in fake(cluster).calls


def test_what_the_platform_finds_is_at_its_line_of_the_whole_file(cluster: Cluster) -> None:
    bad = Problem("slurm_conf", "Line 2: Unable to find it.", line=2)
    fake(cluster).script.check.append((bad,))
    found = review(cluster, read(cluster).text, base=1, shadow=True)
    (problem,) = found.problems
    assert read(cluster).text.split("\n")[(problem.line or 0) - 1] == "KillWait=30"
    assert problem.message == f"Line {problem.line}: Unable to find it."


def test_what_both_find_is_said_once(cluster: Cluster) -> None:
    text = edited(cluster, MINE + "AccountingStorageTRES=gres/gpu\n")
    alone = review(cluster, text, base=1, shadow=False)
    first = read(cluster).first_line
    mine = [
        Problem("slurm_conf", one.message.replace(f"Line {one.line}", f"Line {(one.line or 0) - first + 1}"),
                one.hint, (one.line or 0) - first + 1, one.blocking)
        for one in alone.problems
    ]  # fmt: skip
    fake(cluster).script.check.append(tuple(mine))
    assert alone.problems and review(cluster, text, base=1, shadow=True).problems == alone.problems


def test_a_platform_that_does_not_answer_is_advice_not_a_refusal(cluster: Cluster) -> None:
    fake(cluster).script.check.append(Unavailable("The shadow controller did not answer."))
    found = review(cluster, edited(cluster, "KillWait=31\n"), base=1, shadow=True)
    assert not found.is_refused and "did not answer" in found.problems[0].message


def test_an_altered_line_of_the_platform_is_a_problem_there(cluster: Cluster) -> None:
    text = read(cluster).text.replace(
        "PartitionName=debug Nodes=slinky-0", "PartitionName=debug Nodes=slinky-1"
    )
    (problem,) = review(cluster, text, base=1, shadow=True).problems
    assert problem.blocking and "belongs to the platform" in problem.message
    assert problem.line and text.split("\n")[problem.line - 1].startswith("PartitionName=debug")


@pytest.mark.parametrize("marker", [BEGIN, END])
def test_a_missing_marker_is_refused(cluster: Cluster, marker: str) -> None:
    found = review(cluster, read(cluster).text.replace(f"{marker}\n", ""), base=1, shadow=True)
    assert found.is_refused and not found.settings


@pytest.mark.parametrize("ours", ["KillWait=30 \\\n", f"{BEGIN}\n", "KillWait=30\x0b\n", "A=1\u2028B=2\n"])
def test_a_block_that_would_reach_beyond_itself_is_refused_at_its_line(cluster: Cluster, ours: str) -> None:
    found = review(cluster, edited(cluster, f"# ours\n{ours}"), base=1, shadow=True)
    assert read(cluster).first_line + 1 in [problem.line for problem in found.problems if problem.blocking]


def test_costs_are_said_by_line_and_in_all(cluster: Cluster) -> None:
    make_job(cluster, 7, state="RUNNING", nodes="slinky-0")
    reconfigure = review(cluster, edited(cluster, MINE.replace("=30\n", "=31\n")), base=1, shadow=False)
    assert [(line.key, line.cost) for line in reconfigure.changed] == [("KillWait", Cost.RECONFIGURE)]
    assert "no job is touched" in reconfigure.jobs
    comment = review(cluster, edited(cluster, MINE + "# note\n"), base=1, shadow=False)
    assert comment.cost is Cost.NONE


def test_a_restart_says_how_many_jobs_go_on_over_it(cast: Cast) -> None:
    older = replace(tiny_spec(slurm_conf=MINE), slurm_version="22.05")
    cluster = tiny_cluster(cast.team, spec=older)
    make_job(cluster, 7, state="RUNNING", nodes="slinky-0")
    found = review(cluster, edited(cluster, MINE + "MaxJobCount=20000\n"), base=1, shadow=False)
    assert found.cost is Cost.RESTART and "1 running job goes on" in found.jobs


# Asking for the change


def test_a_change_is_asked_for_with_the_block_alone(door: Door) -> None:
    change = propose_conf(door, edited(door.cluster, "KillWait=31\n"), 1)
    assert change.revision and change.revision.parsed.slurm_conf == "KillWait=31\n"
    assert change.summary.startswith("slurm.conf")


def test_a_refused_text_makes_no_change(door: Door) -> None:
    with pytest.raises(Rejected) as refusal:
        propose_conf(door, edited(door.cluster, "FooBar=1\n"), 1)
    assert refusal.value.problems[0].line == read(door.cluster).first_line
    assert not door.cluster.changes.exists()


def test_member_cannot_change_it(cluster: Cluster, cast: Cast) -> None:
    for membership in (cast.cy, cast.mo, cast.ben):
        with pytest.raises(Forbidden):
            propose_conf(Door(cluster, membership), edited(cluster, "KillWait=31\n"), 1)


def test_a_stale_base_shows_both_sides_though_locked_lines_have_moved(door: Door) -> None:
    cluster = door.cluster
    text = edited(cluster, "KillWait=31\n")
    spec = cluster.spec.with_partitions((PartitionSpec("wide", "ALL"),))
    change = propose(cluster, spec, base=1, by=door.membership)
    cluster.revision = change.revision
    cluster.save()
    change.status = "committed"
    change.save()
    with pytest.raises(StaleBase) as stale:
        propose_conf(door, text, 1)
    assert any("wide" in change.path for change in stale.value.theirs)
    assert any(change.path.startswith("slurm_conf") for change in stale.value.yours)


def test_an_unknown_base_is_a_conflict(door: Door) -> None:
    for base in (None, 7):
        with pytest.raises(Conflict):
            propose_conf(door, edited(door.cluster, "KillWait=31\n"), base)
