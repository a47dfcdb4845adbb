"""Plain OpenSSH with certificates that the console signed: ssh, scp and rsync."""

import html
import os
import re
import shlex
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusters.models import Cluster, Region
from console.models import Event, Membership, User
from console.roles import Role, Scope
from console.tokens import make_token
from slurm.authority import sign
from tests.slurm.terminal.conftest import ROOT, Console, session_of
from tests.slurm.terminal.sshd import Sshd, sshd_root
from tests.slurm.terminal.tab import Tab
from tests.slurm.terminal.test_files_page import AXE, TabOf

ROUTE = "/api/v1/teams/research/clusters/demo/ssh-certificate"


@dataclass
class Laptop:
    """A person's own machine: a home with a key, and OpenSSH's programs, which know no other."""

    home: Path

    @property
    def public_key(self) -> str:
        return (self.home / ".ssh/id_ed25519.pub").read_text()

    def run(self, command: str, *, ok: bool = True) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        done = subprocess.run(
            ["sh", "-c", command], env=environment, cwd=self.home, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode == 0) is ok, (command, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def keygen(self, kind: str, name: str, *more: str) -> str:
        self.run(shlex.join(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", f".ssh/{name}", *more]))
        return (self.home / f".ssh/{name}.pub").read_text()

    def write(self, name: str, text: str) -> None:
        """As a person would write it; ssh finds `~` in the password file, so here it is spelled out."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("~/", f"{self.home}/"))


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    made = Laptop(tmp_path)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    made.keygen("ed25519", "id_ed25519")
    return made


def asked(
    console: Console, name: str, key: str, *, accept: str = "application/json", **more: str
) -> tuple[int, str]:
    token = make_token(User.objects.get(username=name), "ssh", scopes={Scope.JOBS})
    query = urllib.parse.urlencode({"public_key": key, **more})
    headers = {"Authorization": f"Bearer {token}", "Accept": accept}
    request = urllib.request.Request(f"{console.url}{ROUTE}?{query}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def connect_page(console: Console) -> str:
    request = urllib.request.Request(
        f"{console.url}/t/research/c/demo/connect/", headers={"Cookie": f"sessionid={session_of('mo')}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def shown_on(page: str, part: str) -> str:
    """What a person copies from the Connect page."""
    found = re.search(rf'id="{part}"[^>]*>(.*?)</(?:code|pre)>', page, re.DOTALL)
    assert found, part
    return html.unescape(found[1])


@pytest.fixture
def ready(console: Console, laptop: Laptop) -> Laptop:
    """A laptop on which somebody did what the Connect page says."""
    page = connect_page(console)
    laptop.write(".ssh/config", shown_on(page, "ssh-config"))
    token = make_token(User.objects.get(username="mo"), "ssh", scopes={Scope.JOBS})
    laptop.run(shown_on(page, "token-command").replace("YOUR-TOKEN", token))
    laptop.run(shown_on(page, "known-command"))
    return laptop


def test_page_s_lines_give_ssh_and_scp_without_a_stored_key(ready: Laptop, sshd: Sshd) -> None:
    ssh, scp = (f"{name} -F {ready.home}/.ssh/config" for name in ("ssh", "scp"))
    assert ready.run(f"{ssh} demo.research 'echo $HOME'").strip() == "/mnt/home"
    ready.write("up.txt", "over scp")
    ready.run(f"{scp} -q up.txt demo.research:came.txt")
    assert (sshd.home / "came.txt").read_text() == "over scp"
    made = Event.objects.filter(verb="ssh.certificate").first()
    assert made and made.target.startswith("SHA256:") and made.detail["login"] == "mo"


def test_rsync_takes_the_same_lines(ready: Laptop, sshd: Sshd) -> None:
    """There and back, with what is the same left alone."""
    rsync = f"{rsync_command()} -a --itemize-changes -e 'ssh -F {ready.home}/.ssh/config'"
    ready.write("dir/a.txt", "a")
    ready.write("dir/b.txt", "b")
    assert ready.run(f"{rsync} dir/ demo.research:synced/").count("<f+++") == 2
    assert (sshd.home / "synced/a.txt").read_text() == "a"
    (sshd.home / "synced/b.txt").write_text("changed there")
    assert ready.run(f"{rsync} demo.research:synced/ dir/").count(">f") == 1
    assert (ready.home / "dir/b.txt").read_text() == "changed there"


def rsync_command() -> str:
    """This machine's; else the login node's own, run beside its libraries."""
    if found := shutil.which("rsync"):
        return found
    root = sshd_root()
    if not (root / "usr/bin/rsync").exists():
        pytest.skip("no rsync on this machine, and no tree of the sandbox that has one")
    (loader,) = (root / "usr/lib").glob("*-linux-gnu*/ld-linux-*.so.?")
    return shlex.join([str(loader), "--library-path", str(loader.parent), str(root / "usr/bin/rsync")])


def test_removed_member_gets_no_further_certificate(ready: Laptop, console: Console) -> None:
    ssh = f"ssh -F {ready.home}/.ssh/config demo.research true"
    ready.run(ssh)
    Membership.objects.filter(user__username="mo").update(role=Role.VIEWER)
    for old in (ready.home / ".ssh").glob("*-cert.pub"):
        old.unlink()
    assert "Permission denied" in ready.run(ssh, ok=False)
    status, said = asked(console, "mo", ready.public_key)
    assert status == 403 and "need to be member" in said


def test_certificate_is_for_minutes_and_one_login_user(cluster: Cluster, laptop: Laptop, sshd: Sshd) -> None:
    options = f"-i .ssh/id_ed25519 -o CertificateFile=c.pub -o IdentitiesOnly=yes -F none -p {sshd.port} "
    options += "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes"
    for minutes, user, ok in ((5, "mo", True), (5, "root", False), (-1, "mo", False)):
        laptop.write("c.pub", sign(cluster, "mo", "mo", laptop.public_key, minutes).certificate)
        laptop.run(f"ssh {options} {user}@127.0.0.1 true", ok=ok)
    facts = laptop.run("ssh-keygen -L -f c.pub")
    extensions = facts.partition("Extensions:")[2].split()
    assert extensions == ["permit-port-forwarding", "permit-pty"]
    assert '"quarterdeck:mo"' in facts


@pytest.mark.parametrize(
    ("kind", "more"), [("ecdsa", ("-b", "384")), ("rsa", ("-b", "3072"))], ids=["ecdsa", "rsa"]
)
def test_other_kinds_of_keys_sign_in_too(
    cluster: Cluster, laptop: Laptop, sshd: Sshd, kind: str, more: tuple[str, ...]
) -> None:
    laptop.write("c.pub", sign(cluster, "mo", "mo", laptop.keygen(kind, "other", *more), 5).certificate)
    options = (
        "-i .ssh/other -o CertificateFile=c.pub -o IdentitiesOnly=yes -F none -o StrictHostKeyChecking=no"
    )
    laptop.run(f"ssh {options} -o UserKnownHostsFile=/dev/null -p {sshd.port} mo@127.0.0.1 true")


def test_key_that_is_none_or_too_weak_is_refused_at_its_field(console: Console, laptop: Laptop) -> None:
    weak = laptop.keygen("rsa", "weak", "-b", "1024")
    private = (laptop.home / ".ssh/id_ed25519").read_text()
    for key, word in (
        (weak, "1024 bits"),
        (private, "private key"),
        ("ssh-ed25519 AAAA", "cut short"),
        ("x y", "type"),
    ):
        status, said = asked(console, "mo", key)
        assert (status, '"path":"public_key"' in said, word in said) == (422, True, True), said
        assert "OPENSSH" not in said
    assert asked(console, "mo", laptop.public_key, minutes="61")[0] == 400
    assert set(Event.objects.filter(verb="ssh.certificate").values_list("outcome", flat=True)) == {"refused"}


def test_certificate_alone_for_curl(console: Console, laptop: Laptop) -> None:
    status, said = asked(console, "mo", laptop.public_key, accept="text/plain")
    assert status == 200 and said.startswith("ssh-ed25519-cert-v01@openssh.com ") and said.count("\n") == 1
    assert asked(console, "kim", laptop.public_key, accept="text/plain")[0] == 403
    assert asked(console, "dee", laptop.public_key)[0] == 404


def test_login_node_without_an_address_is_said(console: Console, cluster: Cluster, laptop: Laptop) -> None:
    region = Region.objects.get()
    region.config = {**region.config, "tunnel": {"kind": "pair", "pod": "p", "port": "1"}}
    region.save()
    status, said = asked(console, "mo", laptop.public_key)
    assert (status, "no-address" in said) == (409, True)
    page = connect_page(console)
    assert "no address that your own machine could reach" in page and "ssh-config" not in page


@pytest.mark.parametrize("wide", [True, False])
def test_key_is_signed_on_the_page(tab_of: TabOf, laptop: Laptop, sshd: Sshd, wide: bool) -> None:
    tab: Tab = tab_of("mo", "/t/research/c/demo/connect/", wide=wide)
    page = tab.page
    page.get_by_label("Public key").fill(laptop.public_key)
    page.get_by_role("button", name="Sign for 15 minutes").click()
    laptop.write("quarterdeck-cert.pub", page.locator("#cert-line").inner_text())
    command = page.locator("#cert-command").inner_text()
    options = "-i .ssh/id_ed25519 -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    assert "/mnt/home" in laptop.run(f"{command} {options} 'echo $HOME'")
    page.evaluate((ROOT / "static/vendor/axe/axe.min.js").read_text())
    found = page.evaluate(AXE)
    tab.complaints.clear()  # of axe itself, which styles elements
    assert [each for each in found if each[0] in ("serious", "critical")] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
