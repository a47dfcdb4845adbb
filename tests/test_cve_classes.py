"""What went wrong in comparable consoles, as far as one test says that it cannot here.

docs/security.md lists each CVE with the test that stands against it. Tests of larger parts live with those parts; the
first test here checks that every one that the list names exists.
"""

import ast
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache as cache_once
from importlib import metadata
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from packaging.version import Version

from console.access import PUBLIC
from console.asgi import application
from console.celery import app
from console.counters import PlainValues
from console.errors import ConsoleError
from console.run.keys import make_keys
from slurm.kube.access import Access
from slurm.kube.client import Kube
from tests.cast import Cast, person, the_cast, tiny_cluster
from tests.test_doors import declared, own_routes

HOME = Path(settings.BASE_DIR)
PRODUCT = ("console", "clusters", "slurm", "storage")
ROW = re.compile(r"^\|\s*(?P<cves>[^|]+)\|[^|]+\|[^|]+\|(?P<tests>[^|]+)\|$", re.M)
CVE = re.compile(r"CVE-\d{4}-\d{4,6}|GHSA-3vv3")
# Those that reference lists of comparable consoles name; a class that is not answered yet says so in the list.
KNOWN = """
CVE-2018-18264 CVE-2023-40025 CVE-2024-41666 CVE-2024-31989 CVE-2025-55190 CVE-2022-29165 CVE-2021-36782
CVE-2021-36783 CVE-2022-43757 CVE-2026-88811 CVE-2026-4631 CVE-2026-26002 CVE-2026-44371 CVE-2026-55171
CVE-2026-45777 CVE-2023-42442 CVE-2023-42820 CVE-2025-49825 CVE-2020-11997 CVE-2018-1340 GHSA-3vv3
CVE-2023-46445 CVE-2023-46446 CVE-2023-48795 CVE-2018-7749 CVE-2023-30856 CVE-2020-14368 CVE-2023-26114
CVE-2024-23898 CVE-2024-28179 CVE-2026-44211 CVE-2026-33032 CVE-2026-27944 CVE-2023-48022 CVE-2023-48023
CVE-2025-62593 CVE-2022-45933 CVE-2019-0542 CVE-2024-41264 CVE-2024-39223 CVE-2026-94135
""".split()  # noqa: SIM905 (forty strings in quotes read worse)


def rows() -> list[tuple[list[str], list[str]]]:
    """Of each row of the list: its CVEs and the tests against them, as path::name."""
    text = (HOME / "docs" / "security.md").read_text()
    found = [
        (CVE.findall(row["cves"]), re.findall(r"`([\w/.]+::\w+)`", row["tests"]))
        for row in ROW.finditer(text)
    ]
    return [row for row in found if row[0]]


def test_list_names_every_known_class_and_tests_that_exist() -> None:
    listed = rows()
    assert sorted(cve for cves, _ in listed for cve in cves) == sorted(KNOWN)
    for cves, tests in listed:
        assert tests, f"no test against {cves}"
        for test in tests:
            path, _, name = test.partition("::")
            names = {
                node.name for node in ast.walk(ast.parse((HOME / path).read_text())) if hasattr(node, "name")
            }
            assert name in names, test


@cache_once
def modules() -> list[tuple[Path, ast.Module]]:
    paths = [path for app in PRODUCT for path in sorted((HOME / app).rglob("*.py"))]
    return [(path, ast.parse(path.read_text())) for path in paths]


def calls(tree: ast.Module) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((given.value for given in call.keywords if given.arg == name), None)


def test_only_these_doors_are_public() -> None:
    """A console that can be looked at without signing in is where most of the incidents began."""
    public = {path for path, pattern in own_routes() if PUBLIC in declared(pattern)}
    assert public == PUBLIC_DOORS


PUBLIC_DOORS = {
    "sign-in/",
    "sign-in/second-factor/",
    "sign-in/passkey/",
    "sign-in/passkey/options/",
    "sign-in/start-over/",
    "sign-in/provider/",
    "sign-in/provider/callback/",
    "healthz",
    "invitations/<str:token>/",
}


def test_nothing_from_redis_is_unpickled() -> None:
    """Whoever writes to Redis must not run code here."""
    cache.set("plain", {"a": [1, None, "x"]}, 5)
    assert cache.get("plain") == {"a": [1, None, "x"]}
    raw = cache._cache.get_client().get(cache.make_key("plain"))  # type: ignore[attr-defined]
    assert raw == b'{"a": [1, null, "x"]}'
    with pytest.raises(ValueError):
        PlainValues().loads(b"\x80\x04K\x01.")
    for path, tree in modules():
        imported = {
            name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
        }
        assert not imported & {"pickle", "dill", "shelve", "marshal"}, path
    assert settings.CELERY_TASK_IGNORE_RESULT
    assert list(app.conf.accept_content) == ["json"] and app.conf.task_serializer == "json"


SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "asyncio.create_subprocess_shell"}


def test_commands_are_lists_and_never_a_shells() -> None:
    for path, tree in modules():
        for call in calls(tree):
            shell = keyword(call, "shell")
            assert shell is None or (isinstance(shell, ast.Constant) and shell.value is False), path
            name = ast.unparse(call.func)
            assert name not in {
                "os.system",
                "os.popen",
                "subprocess.getoutput",
                "asyncio.create_subprocess_shell",
            }, path


@pytest.mark.parametrize("name", ["-oProxyCommand=id", "$(id)", "a;id", "`id`", "a b", "../../etc", "a\nb"])
def test_no_name_from_outside_becomes_an_option_or_a_command(db: None, client: Client, name: str) -> None:
    cast: Cast = the_cast()
    tiny_cluster(cast.team)
    client.force_login(person("ada"))
    api = "/api/v1/teams/research/clusters"
    json = {"content_type": "application/json"}
    order = {"name": name, "region": "lab", "image": "slurm-24-11", "gpu_plan": "gpu-8x", "gpu_nodes": 1}
    assert client.post(api, order, **json).status_code == 422
    drain = client.post(f"{api}/tiny/actions/drain", {"nodes": [name], "reason": "x"}, **json)
    cancel = client.post(f"{api}/tiny/actions/cancel", {"jobs": [name]}, **json)
    assert drain.status_code in (400, 404, 422) and cancel.status_code in (400, 404, 422)
    assert client.get(f"/t/{name}/").status_code in (400, 404)


def test_host_keys_are_always_asked_for() -> None:
    """asyncssh takes `known_hosts=None` for "trust whoever answers", and its default reads the worker's own file."""
    for path, tree in modules():
        for call in calls(tree):
            if ast.unparse(call.func).startswith("asyncssh.connect"):
                given = keyword(call, "known_hosts")
                assert given is not None and not isinstance(given, ast.Constant), path
            assert not isinstance(keyword(call, "known_hosts"), ast.Constant), path


def test_no_ssh_server_is_run_and_the_client_is_not_an_old_one() -> None:
    assert Version(metadata.version("asyncssh")) >= Version("2.15")
    for path, tree in modules():
        names = {ast.unparse(call.func) for call in calls(tree)}
        assert not names & {"asyncssh.listen", "asyncssh.create_server", "asyncssh.listen_reverse"}, path
    locked = (HOME / "package-lock.json").read_text()
    xterm = re.search(r'"node_modules/@xterm/xterm": \{\s*"version": "([\d.]+)"', locked)
    assert xterm and Version(xterm[1]) >= Version("5.5")


def test_keys_are_made_anew_and_guessed_by_nobody(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir(mode=0o700)
        make_keys(tmp_path / name)
        made.append({file.name: file.read_text() for file in (tmp_path / name).iterdir()})
        assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / name).iterdir())
    assert made[0].keys() == made[1].keys() and made[0]
    assert all(len(made[0][name].strip()) >= 32 and made[0][name] != made[1][name] for name in made[0])


def test_chance_that_keeps_a_secret_is_not_the_random_modules() -> None:
    """`random` may spread retries over time, and does nothing else: no token, code or key comes from it."""
    spreads = {HOME / "clusters" / "watcher.py", HOME / "slurm" / "kube" / "follow.py"}
    for path, tree in modules():
        names = {ast.unparse(call.func) for call in calls(tree)}
        used = {name for name in names if name.startswith("random.")}
        assert not used or (path in spreads and used <= {"random.random", "random.uniform"}), (path, used)


def production(code: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run with settings as a console behind TLS has them."""
    environment = {
        **os.environ,
        "QUARTERDECK_HTTPS": "1",
        "QUARTERDECK_HOSTS": "console.example.org",
        "SECRET_KEY": "k9-" + "aZ4_" * 16,
        "SEALING_KEYS": "A" * 43 + "=",
        **more,
    }
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    return subprocess.run(
        [sys.executable, *code.split()],
        cwd=HOME,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_production_settings_have_no_complaint() -> None:
    checked = production("manage.py check --deploy --fail-level INFO")
    assert checked.returncode == 0, checked.stderr


def test_cookies_stay_on_https_and_out_of_scripts_and_other_sites(settings, db: None) -> None:
    shown = production("manage.py diffsettings --all").stdout
    for name, value in {
        "SESSION_COOKIE_SECURE": "True", "CSRF_COOKIE_SECURE": "True", "SESSION_COOKIE_HTTPONLY": "True",
        "SESSION_COOKIE_SAMESITE": "'Lax'", "SECURE_HSTS_SECONDS": "31536000", "SECURE_PROXY_SSL_HEADER": "None",
        "DEBUG": "False",
    }.items():  # fmt: skip
        assert re.search(rf"^(### )?{name} = {re.escape(value)}", shown, re.M), name


def test_answers_say_what_a_browser_may_do_with_them(settings, db: None) -> None:
    settings.SECURE_HSTS_SECONDS = 60
    the_cast()
    client = Client()
    client.force_login(person("ada"))
    for path in ("/sign-in/", "/t/research/", "/api/v1/teams", "/nowhere/"):
        headers = client.get(path, secure=True).headers
        policy = headers["Content-Security-Policy"]
        scripts = policy.split("script-src ")[1].split(";")[0]
        assert scripts == "'self'" and "frame-ancestors 'none'" in policy and "object-src 'none'" in policy
        assert headers["Referrer-Policy"] == "same-origin" and headers["X-Content-Type-Options"] == "nosniff"
        assert (
            headers["Strict-Transport-Security"].startswith("max-age=60")
            and headers["X-Frame-Options"] == "DENY"
        )


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "console.example.org:80@evil.example"]
)
def test_other_host_names_are_refused(db: None, client: Client, settings, host: str) -> None:
    """A page of another site that has its own name point here gets nothing (DNS rebinding)."""
    settings.ALLOWED_HOSTS = ["localhost"]
    client.force_login(person("ada"))
    assert client.get("/", headers={"host": host}).status_code == 400
    scope = {"type": "websocket", "path": "/ws/t/a/c/b/live", "query_string": b"", "subprotocols": [],
             "headers": [(b"host", host.encode()), (b"origin", b"http://" + host.encode())]}  # fmt: skip

    async def meet() -> str:
        socket = ApplicationCommunicator(application, scope)
        await socket.send_input({"type": "websocket.connect"})
        return str((await socket.receive_output(20))["type"])

    assert async_to_sync(meet)() == "websocket.close"


def test_every_mutation_of_a_page_asks_for_the_token_of_this_site(db: None) -> None:
    """Without it neither a form nor htmx nor the API by a session changes anything."""
    cast = the_cast()
    tiny_cluster(cast.team)
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("ada"))
    before = list(cast.team.memberships.values_list("user__username", "role"))
    for headers in (
        {},
        {"HX-Request": "true"},
        {"X-CSRFToken": "x" * 64},
        {"origin": "https://evil.example"},
    ):
        for path in ("/t/research/members/removal/", "/t/research/members/invitations/new/", "/sign-out/",
                     "/t/research/c/tiny/terminate/", "/profile/tokens/new/", "/api/v1/teams/research/members",
                     "/api/v1/teams/research/clusters/tiny/actions/terminate", "/sign-in/"):  # fmt: skip
            body = {"content_type": "application/json"} if path.startswith("/api/") else {}
            answer = client.post(path, {"member": "mo", "name": "mo"}, headers=headers, **body)
            assert answer.status_code == 403, (path, headers, answer.status_code)
    assert list(cast.team.memberships.values_list("user__username", "role")) == before


def test_no_redirect_carries_credentials_elsewhere() -> None:
    """A Kubernetes API that answers with another host's address is not followed with our token."""
    heard: list[bytes] = []
    elsewhere = socket.create_server(("127.0.0.1", 0))
    first = socket.create_server(("127.0.0.1", 0))
    target = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"

    def answer(listener: socket.socket) -> None:
        listener.settimeout(5)
        with suppress(OSError), listener.accept()[0] as peer:
            heard.append(peer.recv(65536))
            peer.sendall(f"HTTP/1.1 307 Go\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())

    threads = [threading.Thread(target=answer, args=(listener,)) for listener in (first, elsewhere)]
    for thread in threads:
        thread.start()
    access = Access(server=f"http://127.0.0.1:{first.getsockname()[1]}", token="planted")
    with pytest.raises(ConsoleError):
        Kube(access).version()
    elsewhere.close()
    for thread in threads:
        thread.join(10)
    assert len(heard) == 1 and b"Bearer planted" in heard[0]
