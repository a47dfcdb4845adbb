"""The real PostgreSQL and Redis: as root, as an ordinary user, in awkward places, and after being killed."""

import os
import pwd
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from console.run.identity import identity_of
from console.run.layout import Layout
from console.run.services import PostgresServer, RedisServer
from tests.run.console import ROOT, TinyConsole, all_gone, until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="shows what happens to root")
AS_NOBODY = """
import sys
from pathlib import Path
from console.run.services import PostgresServer, RedisServer
home = Path(sys.argv[1])
for server in (
    PostgresServer(home / "postgres", home / "s" / "postgres", home / "password", durable=False),
    RedisServer(home / "redis", home / "s", durable=False),
):
    server.start(home / "log")
    print(server.name, server.is_ready())
    server.stop()
"""


@pytest.fixture
def postgres(home: Path) -> Iterator[PostgresServer]:
    server = PostgresServer(home / "postgres", home / "s" / "postgres", home / "password", durable=False)
    yield server
    server.stop()


def test_postgres_keeps_its_data(postgres: PostgresServer, home: Path) -> None:
    postgres.start(home / "log")
    with psycopg.connect(postgres.url) as connection:
        connection.execute("create table kept as select 42 as answer")
    postgres.stop()
    postgres.start(home / "log")
    with psycopg.connect(postgres.url) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


def test_postgres_wants_its_password(postgres: PostgresServer, home: Path) -> None:
    postgres.start(home / "log")
    wrong = postgres.url.replace(postgres.password_file.read_text(), "guess")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)


def test_secrets_are_for_their_owner_alone(postgres: PostgresServer, home: Path) -> None:
    postgres.start(home / "log")
    assert stat.S_IMODE(postgres.password_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(postgres.data.stat().st_mode) == 0o700
    assert not list(home.glob("*-password"))


def test_an_interrupted_making_is_made_anew(postgres: PostgresServer, home: Path) -> None:
    postgres.data.mkdir()
    (postgres.data / "PG_VERSION").write_text("18\n")
    postgres.start(home / "log")
    assert postgres.is_ready()


def test_a_server_left_by_an_unrecorded_run_is_ended(postgres: PostgresServer, home: Path) -> None:
    postgres.start(home / "log")
    assert postgres.popen is not None
    left = identity_of(postgres.popen.pid)
    assert left is not None
    second = PostgresServer(postgres.data, postgres.sockets, postgres.password_file, durable=False)
    second.start(home / "log")
    try:
        postgres.popen.wait(5)
        assert second.is_ready() and all_gone([left])
    finally:
        second.stop()


def test_a_stranger_with_the_recorded_number_does_not_stop_the_start(
    postgres: PostgresServer, home: Path
) -> None:
    postgres.start(home / "log")
    postgres.stop()
    with subprocess.Popen(["sleep", "306"]) as stranger:
        (postgres.data / "postmaster.pid").write_text(f"{stranger.pid}\n{postgres.data}\n")
        postgres.start(home / "log")
        assert stranger.poll() is None
        stranger.kill()


def test_redis_keeps_its_queue(home: Path) -> None:
    server = RedisServer(home / "redis", home / "s")
    server.start(home / "log")
    redis.from_url(server.url).rpush("queue", "task")
    assert server.popen is not None
    server.popen.kill()
    server.popen.wait()
    server.start(home / "log")
    assert redis.from_url(server.url).lpop("queue") == b"task"
    server.stop()


@needs_root
def test_an_ordinary_user_needs_no_root(home: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    home.chmod(0o700)
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    user = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--"]
    program = [*user, sys.executable, "-c", AS_NOBODY, str(home)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("PostgreSQL True\nRedis True\n", "")


@needs_root
def test_root_may_keep_the_checkout_where_only_root_may_enter(home: Path) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    server = PostgresServer(
        closed / "postgres", closed / "s" / "postgres", closed / "password", durable=False
    )
    server.start(home / "log")
    with psycopg.connect(server.url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    server.stop()


def test_a_deep_checkout_keeps_its_sockets_in_a_short_directory(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    layout = Layout(deep, deep / "var")
    layout.make()
    server = RedisServer(layout.var / "redis", layout.sockets)
    server.start(tmp_path / "log")
    assert len(os.fsencode(server.socket)) < 108
    server.stop()
    assert Layout(deep, deep / "var").sockets == layout.sockets
    layout.sockets.rmdir()


def test_a_killed_console_comes_up_again_with_its_data(real: TinyConsole) -> None:
    real.up()
    database, queue = _servers(real.var)
    with psycopg.connect(database.url) as connection:
        connection.execute("create table kept as select 42 as answer")
    redis.from_url(queue.url).set("kept", "yes")
    until(lambda: redis.from_url(queue.url).get("kept") == b"yes")
    left = real.processes()
    for identity in (*real.recorded().values(),):
        os.kill(identity.pid, signal.SIGSTOP)  # so that they cannot end with the console: the next run has to
    real.kill()
    real.up()
    assert all_gone(left)
    with psycopg.connect(database.url) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)
    assert redis.from_url(queue.url).get("kept") == b"yes"


def test_ctrl_c_ends_the_servers_too(real: TinyConsole) -> None:
    real.up()
    everything = real.processes()
    real.send(signal.SIGINT)
    assert real.wait() == 0
    assert all_gone(everything)
    database, queue = _servers(real.var)
    assert not database.is_ready() and not queue.is_ready()


def _servers(var: Path) -> tuple[PostgresServer, RedisServer]:
    layout = Layout(ROOT, var)
    password = layout.secrets / "postgres_password"
    return PostgresServer(var / "postgres", layout.sockets / "postgres", password), RedisServer(
        var / "redis", layout.sockets
    )
