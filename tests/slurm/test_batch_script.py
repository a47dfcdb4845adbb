"""What a script asks for, and what would go wrong with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm.batch_script import MOST_BYTES, Room, asked, problems, template

ROOMS = {"all": Room(6, 8), "debug": Room(2, 8, 7200), "cpu-workers": Room(2, 0)}
HEAD = "#!/bin/bash\n"


def test_the_template_has_no_problem() -> None:
    assert problems(template("all", 1), ROOMS) == ()


@pytest.mark.parametrize(
    ("line", "option", "value"),
    [
        ("#SBATCH --partition=debug", "--partition", "debug"),
        ("#SBATCH --partition debug", "--partition", "debug"),
        ("#SBATCH -p debug", "--partition", "debug"),
        ("#SBATCH -pdebug", "--partition", "debug"),
        ('#SBATCH --job-name="two words"', "--job-name", "two words"),
        ("#SBATCH -N 2 -t 10", "--time", "10"),
        ("#SBATCH --exclusive", "--exclusive", ""),
        ("#SBATCH --time=10 # not long", "--time", "10"),
    ],
)
def test_a_directive_is_read_as_sbatch_reads_it(line: str, option: str, value: str) -> None:
    assert asked(f"{HEAD}{line}\n").options[option] == value


def test_a_time_limit_that_slurm_cannot_read_stops_the_submission() -> None:
    found = problems(f"{HEAD}#SBATCH --time=soon\nhostname\n", ROOMS)
    assert [(one.line, one.blocking) for one in found] == [(2, True)] and "soon" in found[0].message


def test_directives_end_at_the_first_command() -> None:
    script = f"{HEAD}#SBATCH -p all\n\n# a remark\n#SBATCH -N 2\nhostname\n#SBATCH -N 9\n"
    assert asked(script).options == {"--partition": "all", "--nodes": "2"}
    assert "after a command" in problems(script, ROOMS)[0].message and problems(script, ROOMS)[0].line == 7


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "Write a script"),
        ("  \n ", "Write a script"),
        ("hostname\n", "must name the interpreter"),
        (f"{HEAD}#SBATCH -p nope\n", "no partition nope"),
        (f"{HEAD}echo \0\n", "NUL"),
        (HEAD + "#" * MOST_BYTES, "256 KiB"),
        (HEAD + "é" * (MOST_BYTES // 2), "256 KiB"),
    ],
)
def test_what_stops_a_submission(script: str, words: str) -> None:
    found = problems(script, ROOMS)
    assert words in found[0].message and found[0].blocking


@pytest.mark.parametrize(
    ("directive", "words"),
    [
        ("--mem=0", "takes all memory"),
        ("--mem=0G", "takes all memory"),
        ("--output=/tmp/x.out", "/tmp/x.out"),
        ("-o /tmp/x.out", "/tmp/x.out"),
        ("--error=/dev/shm/e", "/dev/shm/e"),
        ("--gpus-per-node=16", "Asks 16 GPUs on one node"),
        ("--gpus-per-node=h100:16", "Asks 16 GPUs on one node"),
        ("--gres=gpu:h100:16", "Asks 16 GPUs on one node"),
        ("--nodes=7", "Asks 7 nodes"),
        ("--partition=debug --time=3:00:00", "more time than partition debug allows, 120 minutes"),
        ("--partition=cpu-workers --gpus-per-node=1", "the largest of partition cpu-workers has 0"),
    ],
)
def test_what_is_advised_against_does_not_stop(directive: str, words: str) -> None:
    partition = "" if "--partition" in directive else " --partition=all"
    found = problems(f"{HEAD}#SBATCH {directive}{partition}\nhostname\n", ROOMS)
    assert [problem.blocking for problem in found] == [False]
    assert words in found[0].message and found[0].line == 2


@pytest.mark.parametrize(
    "directive",
    [
        "--mem=64G",
        "--output=/tmpfiles/x",
        "--output=%x-%j.out",
        "--partition=debug,all --time=3:00:00",
        "--time=UNLIMITED",
        "--nodes=1-2",
    ],
)
def test_what_is_fine_is_not_advised_against(directive: str) -> None:
    assert problems(f"{HEAD}#SBATCH {directive}\nhostname\n", ROOMS) == ()


def test_an_unseen_cluster_refuses_no_partition() -> None:
    assert problems(f"{HEAD}#SBATCH -p train\n", {}) == ()


@given(st.text(max_size=400))
def test_no_text_makes_the_checks_fail(text: str) -> None:
    problems(text, ROOMS)
    problems(f"{HEAD}#SBATCH {text}", ROOMS)
