"""The login node takes keys and the console's certificates, and nothing else; Slurm's commands work there."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from slurm.provisioners.sandbox.__main__ import sample_files
from slurm.provisioners.sandbox.apply import apply_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.epochs import raise_epochs
from slurm.provisioners.sandbox.orders import write_daemons
from slurm.provisioners.sandbox.space import keeping, reload_keeper, wait_until

AUTHORITY = asyncssh.generate_private_key("ssh-ed25519")
KEY = asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture(scope="module")
def login(cluster: SandboxCluster) -> Iterator[SandboxCluster]:
    """The cluster with a key and an authority; asked of sshd at each sign-in, so nothing restarts."""
    made = replace(
        cluster,
        public_keys=(KEY.export_public_key().decode(),),
        user_ca_key=AUTHORITY.export_public_key().decode(),
    )
    apply_files(made, sample_files(made), lambda _: None)
    yield made


def connect(cluster: SandboxCluster, key: object, certificate: object = None) -> "asyncssh.connect":
    host_key = (cluster.home / "ssh/host_ed25519.pub").read_text()
    return asyncssh.connect(
        "127.0.0.1",
        cluster.ports.sshd,
        username=cluster.login_user,
        client_keys=[(key, certificate)] if certificate else [key],
        known_hosts=asyncssh.import_known_hosts(f"[127.0.0.1]:{cluster.ports.sshd} {host_key}"),
        config=None,
        agent_path=None,
    )


def certificate(principal: str) -> tuple[asyncssh.SSHKey, asyncssh.SSHCertificate]:
    key = asyncssh.generate_private_key("ssh-ed25519")
    return key, AUTHORITY.generate_user_certificate(
        key, "console:ada", principals=[principal], valid_before="+5m"
    )


def test_a_key_of_the_spec_may_sign_in_and_sees_the_cluster(login: SandboxCluster) -> None:
    async def talk() -> str:
        async with connect(login, KEY) as connection:
            done = await connection.run("sinfo -h -o %D; hostname; pwd", check=True)
            return str(done.stdout)

    nodes, host, home = asyncio.run(talk()).split()
    assert int(nodes) == len(login.nodes)
    assert (host, home) == (f"{login.name}-login", login.login_home)


def test_a_certificate_for_the_login_user_opens_a_terminal_of_the_right_size(login: SandboxCluster) -> None:
    async def talk() -> str:
        key, signed = certificate(login.login_user)
        async with connect(login, key, signed) as connection:
            shell = await connection.create_process(term_type="xterm-256color", term_size=(132, 43))
            shell.stdin.write("stty size; echo $TERM; exit\n")
            return str((await shell.wait()).stdout)

    said = asyncio.run(talk())
    assert "43 132" in said
    assert "xterm-256color" in said
    assert f"Login node of {login.name}" in said


def test_a_certificate_for_somebody_else_is_refused(login: SandboxCluster) -> None:
    async def talk() -> None:
        async with connect(login, *certificate("mallory")):
            """Never reached."""

    with pytest.raises(asyncssh.PermissionDenied):
        asyncio.run(talk())


def test_files_can_be_copied(login: SandboxCluster, tmp_path: Path) -> None:
    async def talk() -> None:
        async with connect(login, KEY) as connection, connection.start_sftp_client() as sftp:
            (tmp_path / "job.sh").write_text("#!/bin/sh\nhostname\n")
            await sftp.put(tmp_path / "job.sh", "job.sh")
            done = await connection.run("sbatch --parsable -t1 -o /dev/null job.sh", check=True)
            assert str(done.stdout).strip().isdigit()

    asyncio.run(talk())


def test_restarting_the_login_node_ends_its_sessions(login: SandboxCluster) -> None:
    async def talk() -> None:
        async with connect(login, KEY) as connection:
            session = await connection.create_process("sleep 300")
            write_daemons(replace(login, epochs=raise_epochs(login.home, "sshd")))
            reload_keeper(login.home)
            await asyncio.wait_for(session.wait(), 10)

    asyncio.run(talk())
    assert wait_until(lambda: (state := keeping(login.home)) is not None and state.is_settled, 10)


def test_a_removed_key_no_longer_opens(login: SandboxCluster) -> None:
    apply_files(replace(login, public_keys=()), sample_files(login), lambda _: None)

    async def talk() -> None:
        async with connect(login, KEY):
            """Never reached."""

    with pytest.raises(asyncssh.PermissionDenied):
        asyncio.run(talk())
    apply_files(login, sample_files(login), lambda _: None)
