"""Login users are part of the desired state: every platform takes them, and where they are real it is held to that."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from clusters.spec import ClusterSpec, Leaver, Logins, LoginUser
from slurm.client import Slurm
from slurm.provisioners.sandbox.apart import lack, way
from tests.clusters.polling import until
from tests.contracts.platforms import SPEC, Platform

pytestmark = pytest.mark.timeout(300)
MO, LIN = LoginUser("mo", 20000, sudo=True), LoginUser("lin", 20001)
ON = Logins(on=True, account="research", users=(MO, LIN))


def with_logins(**fields: object) -> ClusterSpec:
    return SPEC.with_logins(replace(ON, **fields))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def people(platform: Platform) -> Iterator[Platform]:
    platform.make(with_logins())
    yield platform
    platform.make(SPEC)


@pytest.fixture
def real(people: Platform, kind: str) -> Platform:
    """Where login users are users of the system."""
    if kind != "sandbox":
        pytest.skip(f"the {kind} platform runs no commands as anybody")
    if not way().has_root:
        pytest.skip(f"everybody is one user here: {lack()}")
    people.make(with_logins())
    return people


def ran(platform: Platform, login: str, *argv: str) -> str:
    done = platform.provisioner.executor(login).run(argv, timeout_s=60.0)
    assert done.code == 0, done.stderr
    return done.stdout.decode().strip()


def submitted(platform: Platform, login: str, *options: str) -> str:
    """A job that the console submits for them; its number."""
    slurm = Slurm(platform.provisioner.executor(login))
    return str(slurm.submit("#!/bin/bash\nid -un; pwd; sleep 300\n", options))


def state_of(platform: Platform, job: str) -> str:
    done = platform.provisioner.executor().run(["squeue", "-h", "-o", "%T %u", "-j", job, "-t", "all"])
    return done.stdout.decode().strip()


def test_a_spec_with_login_users_becomes_the_cluster(people: Platform) -> None:
    assert people.provisioner.judge(with_logins()).verdict.value == "done"
    assert people.provisioner.judge(with_logins()) == people.provisioner.judge(with_logins())


def test_the_console_runs_commands_as_them_in_their_home(real: Platform) -> None:
    assert ran(real, "mo", "id", "-un") == "mo"
    assert ran(real, "lin", "sh", "-c", "pwd; echo $HOME") == "/home/lin\n/home/lin"
    assert ran(real, "", "id", "-u") == "0"


def test_a_job_that_the_console_submits_for_them_is_theirs(real: Platform) -> None:
    job = submitted(real, "lin", "-n1", "-t5")
    try:
        assert until(lambda: state_of(real, job) == "RUNNING lin"), state_of(real, job)
        out = f"/home/lin/slurm-{job}.out"
        assert until(lambda: real.read("login", out) == "lin\n/home/lin\n"), real.read("login", out)
    finally:
        real.provisioner.executor().run(["scancel", job])


def test_each_has_an_account_where_slurm_keeps_any(real: Platform) -> None:
    said = ran(real, "", "sacctmgr", "-nP", "show", "assoc", "cluster=contract", "format=account,user")
    assert {"research|mo", "research|lin"} <= set(said.split())


def test_leavers_lose_jobs_or_home_as_it_was_said_and_others_nothing(real: Platform) -> None:
    theirs, other = submitted(real, "lin", "-n1", "-t5"), submitted(real, "mo", "-n1", "-t5")
    try:
        assert until(lambda: state_of(real, theirs).startswith("RUNNING"))
        ran(real, "lin", "sh", "-c", "echo mine > file")
        gone = with_logins(users=(MO,), leavers=(Leaver("lin", 20001, jobs="cancel", home="archive"),))
        real.make(gone)
        assert until(lambda: not state_of(real, theirs).startswith("RUNNING")), state_of(real, theirs)
        assert state_of(real, other).startswith("RUNNING")
        assert real.read("login", "/home/lin/file") == ""
        assert real.read("login", "/home/.archive/lin-20001-*/file") == "mine\n"
        assert ran(real, "mo", "id", "-un") == "mo"
    finally:
        real.provisioner.executor().run(["scancel", theirs, other])


def test_switched_off_nobody_is_left_and_back_on_homes_are_there(real: Platform) -> None:
    ran(real, "mo", "sh", "-c", "echo kept > kept")
    real.make(with_logins(on=False))
    assert "mo:" not in real.read("login", "/etc/passwd")
    real.make(with_logins())
    assert ran(real, "mo", "cat", "kept") == "kept"
