"""A login node, a team that may use it, and the two processes of a terminal: the web's and the worker's."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser

from clusters import authority
from clusters.lifecycle import Status
from clusters.models import Cluster, Region, Revision
from clusters.spec import ClusterSpec, to_json
from console.models import Membership, Team, User
from console.roles import Role
from console.run.table import WEB_LIMITS
from tests.slurm.terminal.client import Page
from tests.slurm.terminal.sshd import Sshd, free_port, make_sshd, wait_for_port
from tests.slurm.terminal.tab import PHONE, WIDE, Tab

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _empty_memories() -> None:
    """Not here: the channel layer is the real one, which the web process listens to."""


@pytest.fixture(scope="session")
def sshd() -> Iterator[Sshd]:
    """One for all tests; `trust` says whose certificates it takes, and it reads that anew for each sign-in."""
    with tempfile.TemporaryDirectory(prefix="qd-sshd-") as scratch:
        Path(scratch).chmod(0o755)
        server = make_sshd(Path(scratch), "", free_port())
        server.start()
        yield server
        server.stop()


@pytest.fixture
def ca(monkeypatch: pytest.MonkeyPatch, sshd: Sshd) -> Ed25519PrivateKey:
    """An authority that the login node trusts, without a database behind it."""
    key = Ed25519PrivateKey.generate()
    monkeypatch.setattr(authority, "signing_key", lambda _: key)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    sshd.trust(public.decode())
    return key


@pytest.fixture
def team(transactional_db: None) -> Team:
    team = Team.objects.create(slug="research", name="Research")
    for name, role in {"ada": Role.OWNER, "mo": Role.MEMBER, "kim": Role.VIEWER}.items():
        Membership.objects.create(team=team, user=User.objects.create_user(name), role=role)
    User.objects.create_user("dee")
    return team


@pytest.fixture
def cluster(team: Team, sshd: Sshd) -> Cluster:
    facts = {"host": sshd.host, "port": sshd.port, "user": sshd.user, "host_key": sshd.host_key}
    region = Region.objects.create(slug="here", name="Here", provisioner="private-sshd", config=facts)
    cluster = Cluster.objects.create(team=team, region=region, slug="demo", status=Status.RUNNING)
    spec = ClusterSpec(name="demo", image="slurm-24-11", slurm_version="24.11", groups=())
    cluster.revision = Revision.objects.create(cluster=cluster, number=1, spec=to_json(spec))
    cluster.save()
    sshd.trust(cluster.ssh_ca)
    return cluster


@dataclass
class Console:
    """The web process and the terminal worker, on the tests' database. Either can be killed and started again."""

    port: int
    scratch: Path
    environment: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str) -> None:
        argv = {
            "web": [
                "-m",
                "uvicorn",
                "console.asgi:application",
                "--port",
                str(self.port),
                "--log-level",
                "warning",
                *WEB_LIMITS,
            ],
            "terminals": ["manage.py", "terminals"],
        }[name]
        log_file = self.scratch / f"{name}.log"
        with log_file.open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *argv], cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )
        if name == "web":
            wait_for_port(self.port, self.processes[name], log_file)
        else:
            self._wait_for_worker()

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait(15)

    def log(self, name: str) -> str:
        return (self.scratch / f"{name}.log").read_text()

    def _wait_for_worker(self) -> None:
        """Until it has announced itself."""
        for _ in range(200):
            if "terminals are served" in self.log("terminals"):
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.processes["terminals"].wait(0.1)
                break
        raise AssertionError(self.log("terminals"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def console_in(scratch: Path, settings: str) -> Console:
    """On the tests' database and Redis, with these settings; nothing of it is started."""
    address = urlsplit(django_settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}")
    environment = {
        **os.environ,
        "DATABASE_URL": urlunsplit(address),
        "REDIS_URL": django_settings.REDIS_URL,
        "SECRET_KEY": django_settings.SECRET_KEY,
        "SEALING_KEYS": "\n".join(django_settings.SEALING_KEYS),
        "QUARTERDECK_VAR_DIR": str(scratch / "var"),
        "DJANGO_SETTINGS_MODULE": settings,
    }
    return Console(free_port(), scratch, environment)


@pytest.fixture(scope="session")
def processes(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    console = console_in(tmp_path_factory.mktemp("console"), "tests.slurm.terminal.settings")
    console.start("terminals")
    console.start("web")
    yield console
    for name in list(console.processes):
        console.kill(name, signal.SIGTERM)


@pytest.fixture
def console(processes: Console, cluster: Cluster) -> Console:
    """Started once for all tests; what a test killed is started again."""
    for name in {"web", "terminals"} - set(processes.processes):
        processes.start(name)
    return processes


@pytest.fixture
def page(console: Console) -> Iterator[Callable[..., Page]]:
    """Open the terminal's socket as somebody: `page("mo")`."""
    opened: list[Page] = []

    def make(name: str, *, team: str = "research", cluster: str = "demo", stalls: bool = False) -> Page:
        url = f"ws://127.0.0.1:{console.port}/ws/t/{team}/c/{cluster}/terminal"
        opened.append(Page(url, session_of(name), stalls=stalls))
        return opened[-1]

    yield make
    for each in opened:
        each.socket.close()


TabOf = Callable[..., Tab]


@pytest.fixture
def tab_of(browser: Browser, console: Console) -> Iterator[TabOf]:
    """Open the terminal's page as somebody, in a browser of their own: `tab_of("mo")`.

    `port` leads there another way.
    """
    opened: list[Tab] = []

    def make(name: str, path: str = "", *, wide: bool = True, port: int = 0) -> Tab:
        context = browser.new_context(viewport=WIDE if wide else PHONE, has_touch=not wide)
        context.add_cookies([{"name": "sessionid", "value": session_of(name), "url": console.url}])
        url = f"http://127.0.0.1:{port}" if port else console.url
        opened.append(Tab(context, f"{url}{path or '/t/research/c/demo/terminal/'}"))
        return opened[-1]

    yield make
    for tab in opened:
        tab.page.context.close()
        tab.expect_sound()


@pytest.fixture
def tab(tab_of: TabOf, request: pytest.FixtureRequest) -> Tab:
    """A member's, at desk width unless the test's parameter is PHONE."""
    return tab_of("mo", wide=getattr(request, "param", WIDE) is WIDE)


def session_of(name: str) -> str:
    """A browser session of this person."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client.cookies["sessionid"].value
