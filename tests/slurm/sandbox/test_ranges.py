"""Login users by ranges of numbers, where the console is an ordinary user: what is theirs is so for the kernel, and the
console still gets rid of it. `tests/contracts/test_ordinary_user.py` runs this where the tests are root's."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clusters.platform import RegionRef
from clusters.spec import Leaver, Logins
from slurm.provisioners.sandbox import apart
from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.apart import Way, lack, way, way_of
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxMount
from slurm.provisioners.sandbox.homes import put_away, unsettled
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.platform import SandboxPlatform
from slurm.provisioners.sandbox.ranges import outside
from slurm.provisioners.sandbox.space import keeper_pid, remove_home, stop_keeper, wait_until
from slurm.provisioners.sandbox.start import start_cluster
from slurm.provisioners.sandbox.within import remove_tree, used_in
from tests.slurm.sandbox.conftest import until_idle
from tests.slurm.sandbox.logins import LAB, LIN, MO, give, inside, said, with_keys

pytestmark = pytest.mark.skipif(
    way() is not Way.RANGES,
    reason="root needs no ranges" if way() is Way.ROOT else f"there are none to use: {lack()}",
)
ON = Logins(on=True, users=with_keys(MO, LIN), groups=(LAB,))
PEOPLE = {"mo": (20000, 0), "lin": (20001, 1)}
VOLUME = "v0000000000aa"


@pytest.fixture(scope="module")
def people(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxCluster]:
    """A cluster of its own, with a volume and two login users."""
    made = small(tree, tmp_path_factory.mktemp("ranges") / "tiny")
    up(made)
    yield made
    stop_keeper(made.home)
    remove_home(made.home)


def small(tree: Tree, home: Path) -> SandboxCluster:
    volumes = home.with_name("volumes")
    (volumes / VOLUME).mkdir(parents=True)
    (volumes / VOLUME).chmod(0o1777)
    made = sample_cluster(home, tree, gpu_nodes=1, cpu_nodes=0)
    return replace(made, volumes=volumes, mounts=(SandboxMount(VOLUME, "/shared"),), logins=ON)


def up(cluster: SandboxCluster) -> None:
    start_cluster(cluster, sample_files(cluster))
    until_idle(cluster)


def of_the_ranges() -> set[int]:
    """Processes of this machine that are a login user's."""
    theirs = {outside(number) for number, _ in PEOPLE.values()}
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.stat().st_uid in theirs:
                found.add(int(path.name))
        except FileNotFoundError:
            continue
    return found


def test_daemons_are_the_consoles_own_and_jobs_their_users(people: SandboxCluster) -> None:
    pid = keeper_pid(people.home)
    assert pid and os.stat(f"/proc/{pid}").st_uid == os.getuid()
    for name, (number, key) in PEOPLE.items():
        script = f"srun -Q -t1 sh -c 'id -u; id -g; echo by a job > job; echo by a job > /shared/{name}'"
        assert said(people, name, key, script) == f"{number}\n{number}"
        assert inside(people, "stat", "-c", "%u %g", f"/home/{name}/job") == f"{number} {number}"
        assert people.volumes
        assert os.stat(people.volumes / VOLUME / name).st_uid == outside(number)


def test_a_home_is_closed_to_others_and_to_the_consoles_processes_outside(people: SandboxCluster) -> None:
    assert "Permission denied" in said(people, "lin", 1, "ls /home/mo 2>&1")
    assert os.stat(people.home / "home/mo").st_uid == outside(20000)
    with pytest.raises(PermissionError):
        list((people.home / "home/mo").iterdir())


def test_sudo_makes_root_inside_who_is_nobody_more_outside(people: SandboxCluster) -> None:
    assert said(people, "mo", 0, "sudo -n sh -c 'id -u; touch /shared/by-root'") == "0"
    assert people.volumes and os.stat(people.volumes / VOLUME / "by-root").st_uid == os.getuid()
    assert "not permitted" in said(people, "mo", 0, "sudo -n mount -t tmpfs none /mnt 2>&1; echo") or (
        "permission denied" in said(people, "mo", 0, "sudo -n mount -t tmpfs none /mnt 2>&1; echo")
    )


def test_homes_survive_a_restart_and_numbers_with_them(people: SandboxCluster) -> None:
    said(people, "mo", 0, "mkdir -m 700 -p deep; echo kept > deep/file")
    stop_keeper(people.home)
    up(people)
    assert said(people, "mo", 0, "cat deep/file; stat -c %u deep/file") == "kept\n20000"


@pytest.mark.parametrize("what", ["keep", "archive", "delete"])
def test_the_home_of_who_leaves_is_as_it_was_said(people: SandboxCluster, what: str) -> None:
    give(people)
    said(people, "lin", 1, f"mkdir -m 700 -p closed; echo {what} > closed/{what}")
    leaver = Leaver("lin", 20001, home=what)
    left = replace(people, logins=replace(ON, users=ON.users[:1], leavers=(leaver,)))
    give(left)
    if unsettled(left):
        put_away(left, leaver)
    assert unsettled(left) == []
    found = inside(left, "find", "/home", "-name", what, "-type", "f")
    where = {"keep": "/home/lin/", "archive": "/home/.archive/lin-20001-", "delete": ""}[what]
    assert found.startswith(where) and bool(found) == bool(where), found
    assert os.access(left.home / "home/.archive", os.R_OK) or what == "keep"
    give(people)
    assert said(people, "lin", 1, "id -u") == "20001"


def test_what_ends_leaves_neither_processes_nor_files(tree: Tree, tmp_path: Path) -> None:
    made = small(tree, tmp_path / "tiny")
    up(made)
    before = of_the_ranges()
    said(
        made,
        "mo",
        0,
        "mkdir -m 700 /tmp/closed /shared/closed; head -c 1M /dev/zero > /shared/closed/file; umask 077; echo x > y",
    )
    said(
        made, "lin", 1, "sbatch -t5 -o /dev/null --wrap 'mkdir -m 700 /tmp/mine; setsid sleep 600; sleep 600'"
    )
    assert wait_until(lambda: bool(of_the_ranges() - before), 20)
    stop_keeper(made.home, for_good=True)
    assert of_the_ranges() <= before
    assert made.volumes
    said_used = used_in([made.volumes / VOLUME])[made.volumes / VOLUME]
    assert said_used and said_used >= 2**20
    assert (made.home / "home/mo").exists()
    remove_home(made.home)
    assert not made.home.exists()
    remove_tree(made.volumes / VOLUME)
    assert not (made.volumes / VOLUME).exists()


def test_a_killed_keeper_takes_everybodys_processes_along(people: SandboxCluster) -> None:
    said(people, "mo", 0, "sbatch -t5 -o /dev/null --wrap 'setsid sleep 600; sleep 600'")
    assert wait_until(lambda: len(of_the_ranges()) >= 1, 20)
    pid = keeper_pid(people.home)
    assert pid
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: keeper_pid(people.home) is None, 10)
    assert of_the_ranges() == set()
    up(people)


def test_a_cluster_that_began_as_one_user_stays_so_until_it_starts_anew(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then homes become their users', with what is in them."""
    with monkeypatch.context() as before:
        before.setattr(apart, "_told", [Way.ONE])
        old = small(tree, tmp_path / "tiny")
        up(old)
        assert said(
            old, "mo", 0, "mkdir -p deep; echo old > deep/file; ln -s /etc/passwd link; id -u"
        ) == str(os.getuid())
    try:
        assert (way(), way_of(old.home)) == (Way.RANGES, Way.ONE)
        give(replace(old, apart=way_of(old.home)))
        assert said(old, "lin", 1, "srun -Q -t1 id -u") == str(os.getuid())
        stop_keeper(old.home)
        up(old)
        assert way_of(old.home) is Way.RANGES
        assert (
            said(old, "mo", 0, "id -u; cat deep/file; stat -c %u deep/file link")
            == "20000\nold\n20000\n20000"
        )
        assert inside(old, "stat", "-c", "%u", "/etc/passwd") == "0"
    finally:
        stop_keeper(old.home)
        remove_home(old.home)


def test_nothing_is_said_against_login_users() -> None:
    assert SandboxPlatform(RegionRef("here")).logins().caveat == ""
