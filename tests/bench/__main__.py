"""`make bench`: every measurement in one run, targets beside the figures. Exit status 1 when one misses its target.

PostgreSQL and Redis of its own are started unless DATABASE_URL and REDIS_URL name others; a database is made there and
dropped.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path

from console.run.keys import make_keys
from console.run.services import PostgresServer, RedisServer

# The last one leaves its rows behind.
PARTS = ("conf_check", "jobs_page", "nodes_page", "watch_tick", "flood", "terminal", "kube_watch")
MISSED = ("ABOVE THE TARGET", "BELOW THE TARGET")


def main() -> int:
    with ExitStack() as stack:
        start_services(stack)
        stack.enter_context(thrown_away())
        return measure(sys.argv[1:] or PARTS)


def start_services(stack: ExitStack) -> None:
    """Ended with the stack; the environment names them."""
    home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quarterdeck-bench-")))
    home.chmod(0o711)  # as root, PostgreSQL runs as another user and must get through
    secrets = home / "secrets"
    secrets.mkdir(mode=0o700)
    make_keys(secrets)
    os.environ["QUARTERDECK_SECRETS_DIR"] = str(secrets)
    os.environ["QUARTERDECK_VAR_DIR"] = str(home / "var")
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
    servers = {
        "DATABASE_URL": PostgresServer(home / "pg", home / "s", secrets / "postgres_password", durable=False),
        "REDIS_URL": RedisServer(home / "redis", home / "s", durable=False),
    }
    for variable, server in servers.items():
        if variable not in os.environ:
            server.start(home / f"{server.name}.log")
            stack.callback(server.stop)
            os.environ[variable] = server.url


@contextmanager
def thrown_away() -> Iterator[None]:
    """Django set up, with a database that has its tables."""
    import django
    from django.test.utils import setup_databases, setup_test_environment, teardown_databases

    django.setup()
    setup_test_environment(debug=False)
    made = setup_databases(verbosity=0, interactive=False)
    try:
        yield
    finally:
        teardown_databases(made, verbosity=0)


def measure(parts: "list[str] | tuple[str, ...]") -> int:
    is_missed = False
    for part in parts:
        for line in import_module(f"tests.bench.{part}").lines():
            print(line, flush=True)
            is_missed = is_missed or any(word in str(line) for word in MISSED)
    return 1 if is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
