"""A PostgreSQL and a Redis for the tests alone, started before Django's settings are read; a pytest plugin (`-p`).

Both live in a directory that is deleted afterwards and write nothing durably. `DATABASE_URL` and `REDIS_URL` name
other servers; then ours are not started. Of several processes that share the tests (pytest-xdist) each has its own.
It is a plugin and not a conftest because pytest-django reads the settings before any conftest is loaded.
"""

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from console.run.keys import make_keys
from console.run.services import PostgresServer, RedisServer, Server

SETTINGS = ("SECRET_KEY", "SEALING_KEYS")
home = pytest.StashKey[Path]()
running = pytest.StashKey[list[Server]]()
# Names of the variables that we have set, for a process that inherits them and shall have its own.
OURS = "QUARTERDECK_TESTS_OWN"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """A wrapper, so that it runs before pytest-django's own hook."""
    for name in os.environ.pop(OURS, "").split():
        del os.environ[name]
    before = set(os.environ)
    directory = Path(tempfile.mkdtemp(prefix="quarterdeck-tests-"))
    directory.chmod(0o711)  # as root, PostgreSQL runs as another user and must get through
    early_config.stash[home] = directory
    early_config.stash[running] = []
    _point_settings_at(directory)
    try:
        _start_servers(early_config, directory)
        os.environ[OURS] = " ".join(sorted(set(os.environ) - before))
        return (yield)
    except BaseException:
        _clear(early_config)
        raise


def pytest_unconfigure(config: pytest.Config) -> None:
    _clear(config)


def _point_settings_at(directory: Path) -> None:
    secrets = directory / "secrets"
    secrets.mkdir(mode=0o700)
    make_keys(secrets)
    if not all(name in os.environ for name in SETTINGS):
        os.environ.setdefault("QUARTERDECK_SECRETS_DIR", str(secrets))
    os.environ.setdefault("QUARTERDECK_VAR_DIR", str(directory / "var"))


def _start_servers(config: pytest.Config, directory: Path) -> None:
    password = directory / "secrets" / "postgres_password"
    postgres = PostgresServer(directory / "postgres", directory / "s" / "postgres", password, durable=False)
    redis = RedisServer(directory / "redis", directory / "s", durable=False)
    for variable, server in (("DATABASE_URL", postgres), ("REDIS_URL", redis)):
        if variable not in os.environ:
            server.start(directory / f"{server.name}.log")
            config.stash[running].append(server)
            os.environ[variable] = server.url


def _clear(config: pytest.Config) -> None:
    for server in reversed(config.stash.get(running, [])):
        server.stop()
    directory = config.stash.get(home, None)
    if directory is not None and not _has_mounts(directory):
        shutil.rmtree(directory, ignore_errors=True)


def _has_mounts(directory: Path) -> bool:
    """Whether something is mounted below: deleting through a mount would reach what is not ours."""
    return f" {directory}/" in Path("/proc/self/mounts").read_text()
