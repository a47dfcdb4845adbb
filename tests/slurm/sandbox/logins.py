"""Login users of a test's cluster: who they are, how they get there, and what each says when signed in with a key."""

import asyncio
from dataclasses import replace

import asyncssh

from clusters.spec import LoginGroup, LoginUser
from slurm.provisioners.sandbox.__main__ import sample_files
from slurm.provisioners.sandbox.apply import apply_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.homes import on_login
from slurm.provisioners.sandbox.sessions import knows_people
from slurm.provisioners.sandbox.space import keeping, run_inside, wait_until

KEYS = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(50)]
MO, LIN = LoginUser("mo", 20000, sudo=True), LoginUser("lin", 20001, ("lab",))
LAB = LoginGroup("lab", 20002)


def line(number: int) -> str:
    return KEYS[number].export_public_key().decode().strip()


def with_keys(*users: LoginUser) -> tuple[LoginUser, ...]:
    """Each with the key of their number."""
    return tuple(replace(user, keys=(line(user.uid % 50),)) for user in users)


def give(cluster: SandboxCluster) -> None:
    apply_files(cluster, sample_files(cluster), lambda text: None)
    assert wait_until(lambda: knows_people(cluster), 10, 0.02)
    assert wait_until(lambda: (state := keeping(cluster.home)) is not None and state.is_settled, 30)


def connect(cluster: SandboxCluster, name: str, key: int) -> "asyncssh.connect":
    host_key = (cluster.home / "ssh/host_ed25519.pub").read_text()
    return asyncssh.connect(
        "127.0.0.1",
        cluster.ports.sshd,
        username=name,
        client_keys=[KEYS[key]],
        known_hosts=asyncssh.import_known_hosts(f"[127.0.0.1]:{cluster.ports.sshd} {host_key}"),
        config=None,
        agent_path=None,
    )


def said(cluster: SandboxCluster, name: str, key: int, command: str) -> str:
    """What a command prints for this user with this key. Raises PermissionDenied."""

    async def talk() -> str:
        async with connect(cluster, name, key) as connection:
            return str((await connection.run(command)).stdout).strip()

    return asyncio.run(talk())


def inside(cluster: SandboxCluster, *argv: str) -> str:
    done = run_inside(cluster.home, [*on_login(cluster), *argv])
    return (done.stdout + done.stderr).strip()
