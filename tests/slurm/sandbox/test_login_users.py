"""Login users are real: each has a number, a home, keys and jobs of their own, and goes within seconds."""

import asyncio
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from clusters.spec import Leaver, Logins, LoginUser
from console.errors import Rejected
from slurm.provisioners.sandbox.apart import Way, lack, way
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxMount
from slurm.provisioners.sandbox.homes import make_homes, on_login, put_away, unsettled
from slurm.provisioners.sandbox.people import as_user
from slurm.provisioners.sandbox.sessions import end_strays, strays
from slurm.provisioners.sandbox.space import run_inside
from slurm.provisioners.sandbox.within import give_homes
from tests.slurm.sandbox.conftest import slurm
from tests.slurm.sandbox.logins import LAB, LIN, MO, connect, give, inside, said, with_keys

pytestmark = pytest.mark.skipif(not way().has_root, reason=f"everybody is one user here: {lack()}")
VOLUME = "v0000000000aa"


@pytest.fixture(scope="module")
def people(cluster: SandboxCluster) -> Iterator[SandboxCluster]:
    """The cluster with two login users, until the last test of this file."""
    made = replace(cluster, logins=Logins(on=True, users=with_keys(MO, LIN), groups=(LAB,)))
    give(made)
    yield made
    give(cluster)


def test_each_signs_in_as_themselves_with_their_own_key_alone(people: SandboxCluster) -> None:
    assert said(people, "mo", 0, "id -un; id -u; pwd; stat -c '%a %U' .") == "mo\n20000\n/home/mo\n700 mo"
    assert said(people, "lin", 1, "id -Gn") == "lin lab"
    for name, key in (("mo", 1), ("lin", 0), ("root", 0), ("nobody", 0)):
        with pytest.raises(asyncssh.PermissionDenied):
            said(people, name, key, "true")


def test_homes_are_private(people: SandboxCluster) -> None:
    assert "Permission denied" in said(people, "lin", 1, "ls /home/mo 2>&1")


def test_jobs_run_as_their_user_in_the_same_home(people: SandboxCluster) -> None:
    script = "srun -Q -t1 -w slinky-1 sh -c 'id -un; id -Gn; pwd; echo by a job > from-a-job; chmod 644 from-a-job'"
    assert said(people, "lin", 1, script) == "lin\nlin lab\n/home/lin"
    assert said(people, "lin", 1, "cat from-a-job; stat -c %U from-a-job") == "by a job\nlin"


def test_sudo_is_for_whom_it_was_given_to_and_on_the_login_node_alone(people: SandboxCluster) -> None:
    assert said(people, "mo", 0, "sudo -n id -un") == "root"
    assert said(people, "lin", 1, "sudo -n id -un 2>/dev/null || echo no") == "no"
    assert said(people, "mo", 0, "srun -Q -t1 -w slinky-1 sudo -n id -un 2>/dev/null || echo no") == "no"


def test_passwords_are_nobodys_to_read(people: SandboxCluster) -> None:
    assert "Permission denied" in said(people, "lin", 1, "cat /etc/shadow 2>&1")


def test_who_is_removed_is_signed_out_and_not_let_in_again(people: SandboxCluster) -> None:
    async def talk() -> float:
        async with connect(people, "lin", 1) as connection:
            session = await connection.create_process("sleep 300")
            began = time.monotonic()
            await asyncio.to_thread(remove)
            await asyncio.wait_for(session.wait(), 10)
            return time.monotonic() - began

    def remove() -> None:
        give(without)
        end_strays(without)

    without = replace(people, logins=replace(people.logins, users=people.logins.users[:1]))
    job = said(people, "lin", 1, "sbatch --parsable -t5 -w slinky-2 -o /dev/null --wrap 'sleep 60'")
    try:
        assert asyncio.run(talk()) < 10
        assert strays(without) == []
        with pytest.raises(asyncssh.PermissionDenied):
            said(people, "lin", 1, "true")
        assert slurm(people, "squeue", "-h", "-j", job, "-o", "%T") in ("RUNNING", "PENDING", "CONFIGURING")
    finally:
        slurm(people, "scancel", job)
        give(people)
    assert said(people, "lin", 1, "cat from-a-job") == "by a job"


def test_adding_somebody_ends_no_session(people: SandboxCluster) -> None:
    kim = with_keys(LoginUser("kim", 20003))

    async def talk() -> str:
        async with connect(people, "mo", 0) as connection:
            shell = await connection.create_process("read line; echo still $line")
            grown = replace(people, logins=replace(people.logins, users=(*people.logins.users, *kim)))
            await asyncio.to_thread(give, grown)
            await asyncio.to_thread(end_strays, grown)
            shell.stdin.write("here\n")
            return str((await shell.wait()).stdout).strip()

    assert asyncio.run(talk()) == "still here"
    assert said(people, "kim", 3, "id -un") == "kim"
    give(people)
    end_strays(people)


@pytest.mark.parametrize("what", ["archive", "delete"])
def test_a_home_is_put_away(people: SandboxCluster, what: str) -> None:
    (kim,) = with_keys(LoginUser("kim", 20003))
    grown = replace(people, logins=replace(people.logins, users=(*people.logins.users, kim)))
    give(grown)
    said(grown, "kim", 3, f"mkdir -p deep/er; echo mine > deep/er/{what}d; ln -s /etc gone")
    left = replace(people, logins=replace(people.logins, leavers=(Leaver("kim", 20003, home=what),)))
    give(left)
    end_strays(left)
    assert [one.name for one in unsettled(left)] == ["kim"]
    put_away(left, left.logins.leavers[0])
    assert unsettled(left) == []
    assert "No such file" in inside(left, "ls", "/home/kim")
    kept = inside(left, "find", "/home/.archive", "-name", f"{what}d")
    assert bool(kept) == (what == "archive"), kept
    assert inside(left, "stat", "-c", "%a", "/home/.archive") == "700"
    assert inside(left, "stat", "-c", "%U", "/etc/passwd") == "root"
    give(people)


def test_homes_on_a_volume_are_the_same_on_every_machine(people: SandboxCluster) -> None:
    assert people.volumes
    (people.volumes / VOLUME).mkdir(parents=True, exist_ok=True)
    (people.volumes / VOLUME).chmod(0o1777)
    moved = replace(
        people, mounts=(SandboxMount(VOLUME, "/shared"),), logins=replace(people.logins, homes="/shared")
    )
    give(moved)
    try:
        assert (
            said(moved, "lin", 1, "pwd; echo kept > file; srun -Q -t1 -w slinky-1 cat file")
            == "/shared/home/lin\nkept"
        )
        assert (people.volumes / VOLUME / "home").is_dir()
        assert inside(moved, "cat", "/shared/home/lin/file") == "kept"
        submitted = run_inside(
            moved.home,
            [
                *on_login(moved),
                *as_user(moved, "lin"),
                "env",
                "-C",
                "/shared/home/lin",
                "HOME=/shared/home/lin",
                "id",
                "-un",
            ],
        )
        assert submitted.stdout == "lin\n"
    finally:
        give(people)


def test_a_place_for_homes_that_is_somebody_elses_or_a_link_is_refused(people: SandboxCluster) -> None:
    """Whoever has a shell can make things on a volume before the homes are put there."""
    assert people.volumes
    for key, trick in (("v0000000000ab", "home"), ("v0000000000ac", "home/lin"), ("v0000000000ad", "link")):
        volume = people.volumes / key
        (volume / "home").mkdir(parents=True, exist_ok=True)
        if trick == "home":
            make_theirs(volume / "home", 20001)
        elif trick == "link":
            (volume / "home").rmdir()
            (volume / "home").symlink_to("/etc")
        else:
            (volume / "home/mo").symlink_to("/etc")
        logins = replace(people.logins, homes="/shared")
        with pytest.raises(Rejected) as refused:
            make_homes(replace(people, mounts=(SandboxMount(key, "/shared"),), logins=logins))
        assert [problem.path for problem in refused.value.problems] == ["logins.homes"]


def make_theirs(directory: Path, number: int) -> None:
    if way() is Way.ROOT:
        os.chown(directory, number, number)
        return
    above = os.open(directory.parent, os.O_RDONLY)
    give_homes(above, {directory.name: number})
    os.close(above)


def test_fifty_come_change_and_go_in_any_order_and_keep_numbers_and_homes(people: SandboxCluster) -> None:
    rng = random.Random(50)
    everybody = [LoginUser(f"user{n:02}", 20100 + n) for n in range(50)]
    here: dict[str, LoginUser] = {}
    steps = [user for user in everybody for _ in range(3)]
    rng.shuffle(steps)
    for at in range(0, len(steps), 10):
        for user in steps[at : at + 10]:
            turn(here, user, rng)
        settle(people, list(here.values()))
    settle(people, everybody)
    assert asyncio.run(homes_of(people, everybody)) == {
        user.name: f"{user.uid} {user.name}" for user in everybody
    }
    settle(people, everybody[::2])
    settle(people, everybody)
    assert asyncio.run(homes_of(people, everybody)) == {
        user.name: f"{user.uid} {user.name}" for user in everybody
    }
    give(people)
    end_strays(people)


def turn(here: dict[str, LoginUser], user: LoginUser, rng: random.Random) -> None:
    """Add who is not there; else change or remove them."""
    if user.name not in here:
        here[user.name] = user
    elif rng.random() < 0.5:
        here[user.name] = replace(user, sudo=not here[user.name].sudo)
    else:
        del here[user.name]


def settle(cluster: SandboxCluster, users: Sequence[LoginUser]) -> None:
    made = replace(
        cluster, logins=Logins(on=True, users=(*cluster.logins.users, *with_keys(*users)), groups=(LAB,))
    )
    give(made)
    end_strays(made)


async def homes_of(cluster: SandboxCluster, users: Sequence[LoginUser]) -> dict[str, str]:
    """The number of each and the name that is written in their home, as told to them: each with their own key, after
    another's was refused. A name is written where there is none."""
    places = asyncio.Semaphore(8)

    async def ask(user: LoginUser) -> tuple[str, str]:
        async with places:
            with pytest.raises(asyncssh.PermissionDenied):
                async with connect(cluster, user.name, (user.uid + 1) % 50):
                    """Never reached."""
            async with connect(cluster, user.name, user.uid % 50) as connection:
                done = await connection.run(
                    "[ -e name ] || id -un > name; echo $(id -u) $(cat name)", check=True
                )
                return user.name, str(done.stdout).strip()

    return dict(await asyncio.gather(*(ask(user) for user in users)))
