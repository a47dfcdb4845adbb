"""Kubeconfigs: what is taken out of them, and everything in them that is refused."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Rejected, Unavailable
from slurm.kube.access import MOST_BYTES, Access, read_kubeconfig
from slurm.kube.in_cluster import in_cluster
from slurm.kube.pem import certificate_end, token_end
from tests.kube.rig.pki import Authority


@pytest.fixture(scope="session")
def authority(tmp_path_factory) -> Authority:
    return Authority.of(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="session")
def pair(authority):
    return authority.issue("ada")


def b64(text: bytes) -> str:
    return base64.b64encode(text).decode()


def written(cluster: dict | None = None, user: dict | None = None, **more: object) -> str:
    """A kubeconfig; `None` fields are left out."""
    cluster = {"server": "https://10.0.0.1:6443", **(cluster or {})}
    document = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "secret-token"} if user is None else user}],
        **more,
    }
    return yaml.safe_dump({key: value for key, value in document.items() if value is not None})


def problems(text: str) -> dict[str, str]:
    with pytest.raises(Rejected) as refused:
        read_kubeconfig(text)
    return {problem.path: f"{problem.message} {problem.hint}" for problem in refused.value.problems}


class TestReading:
    def test_a_token_and_an_authority(self, authority):
        ca = authority.pair.certificate
        text = written({"certificate-authority-data": b64(ca), "tls-server-name": "kubernetes"})
        access = read_kubeconfig(text)
        assert access == Access(
            "https://10.0.0.1:6443",
            ca.decode(),
            server_name="kubernetes",
            token="secret-token",
            namespace="n",
        )

    def test_a_client_certificate(self, pair):
        user = {"client-certificate-data": b64(pair.certificate), "client-key-data": b64(pair.key)}
        access = read_kubeconfig(written(user=user))
        assert (access.certificate.encode(), access.key.encode()) == (pair.certificate, pair.key)

    def test_the_current_context_is_the_one_that_counts(self):
        users = [{"name": "other", "user": {"token": "no"}}, {"name": "u", "user": {"token": "yes"}}]
        assert read_kubeconfig(written(users=users)).token == "yes"

    def test_nothing_secret_is_shown_when_it_is_printed(self, pair):
        user = {"token": "secret-token", "client-certificate-data": b64(pair.certificate)}
        access = read_kubeconfig(written(user={**user, "client-key-data": b64(pair.key)}))
        assert "secret-token" not in repr(access) and "PRIVATE" not in repr(access)

    def test_paths_and_loopback_without_encryption_are_taken(self):
        for server in (
            "https://rancher.example.org/k8s/clusters/c-1",
            "http://127.0.0.1:8001",
            "http://[::1]:1",
        ):
            assert read_kubeconfig(written({"server": f"{server}/"})).server == server


REFUSED_USERS = {
    "exec": ({"command": "aws", "args": ["eks"]}, "run a command"),
    "auth-provider": ({"name": "gcp"}, "sign-in of its own"),
    "client-certificate": ("/root/.kube/crt", "--flatten"),
    "client-key": ("/root/.kube/key", "--flatten"),
    "tokenFile": ("/var/token", "token itself"),
    "username": ("admin", "removed in 1.19"),
    "password": ("admin", "removed in 1.19"),
    "as": ("system:admin", "another's name"),
    "as-groups": (["system:masters"], "another's name"),
}
REFUSED_CLUSTERS = {
    "certificate-authority": ("/etc/ca.crt", "--flatten"),
    "insecure-skip-tls-verify": (True, "pose as"),
    "proxy-url": ("http://proxy:3128", "direct way"),
    "server": ("http://10.0.0.1:6443", "not encrypted"),
    "certificate-authority-data": ("%%%", "base64"),
}


class TestRefusing:
    @pytest.mark.parametrize("field", REFUSED_USERS)
    def test_a_user_that_runs_or_reads_something_here(self, field):
        value, words = REFUSED_USERS[field]
        assert (
            words in problems(written(user={"token": "t", field: value}))[f"kubeconfig.users[0].user.{field}"]
        )

    @pytest.mark.parametrize("field", REFUSED_CLUSTERS)
    def test_a_cluster_that_is_not_safe(self, field):
        value, words = REFUSED_CLUSTERS[field]
        assert words in problems(written({field: value}))[f"kubeconfig.clusters[0].cluster.{field}"]

    def test_every_problem_is_told_at_once(self):
        found = problems(
            written({"proxy-url": "x", "insecure-skip-tls-verify": True}, {"exec": {"command": "x"}})
        )
        assert len(found) == 3

    def test_no_credential_at_all(self):
        assert "neither a token nor" in problems(written(user={}))["kubeconfig.users[0].user"]

    @pytest.mark.parametrize(
        "server", ["ftp://x", "10.0.0.1:6443", "https://a:b@host", "https://h:99999", "", 7]
    )
    def test_what_is_no_address(self, server):
        assert list(problems(written({"server": server}))) == ["kubeconfig.clusters[0].cluster.server"]

    def test_a_context_that_is_missing_or_names_nothing(self):
        assert "use-context" in problems(written(**{"current-context": None}))["kubeconfig.current-context"]
        assert list(problems(written(**{"current-context": "elsewhere"}))) == ["kubeconfig.contexts"]
        assert list(problems(written(users=[]))) == ["kubeconfig.users"]

    def test_a_key_of_another_certificate(self, authority, pair):
        user = {
            "client-certificate-data": b64(pair.certificate),
            "client-key-data": b64(authority.issue("bob").key),
        }
        assert "does not belong" in " ".join(problems(written(user=user)).values())

    def test_a_token_that_would_write_headers(self):
        assert "strange characters" in " ".join(problems(written(user={"token": "a\r\nX-Evil: b"})).values())

    @pytest.mark.parametrize(
        "text", ["", "[]", "just words", "a: [", "\t\tx: y", "clusters", "!!python/name:os.system"]
    )
    def test_what_is_no_kubeconfig(self, text):
        assert list(problems(text)) == ["kubeconfig"]

    def test_what_is_too_large_or_too_deep(self):
        assert "larger than" in problems("#" * (MOST_BYTES + 1))["kubeconfig"]
        assert problems("[" * 20_000)["kubeconfig"]

    @given(st.text())
    def test_any_text_is_read_or_rejected(self, text):
        with pytest.raises(Rejected):
            read_kubeconfig(text)


class TestEnds:
    def test_of_a_certificate(self, authority):
        end = certificate_end(authority.issue("ada", lifetime=timedelta(hours=2)).certificate.decode())
        assert end is not None and abs(end - datetime.now(UTC) - timedelta(hours=2)) < timedelta(minutes=5)

    def test_of_a_token_that_says_so(self):
        claims = base64.urlsafe_b64encode(b'{"exp": 1800000000}').decode().rstrip("=")
        assert token_end(f"e30.{claims}.c2ln") == datetime.fromtimestamp(1_800_000_000, UTC)

    @pytest.mark.parametrize("token", ["", "opaque", "a.b", "a.b.c", "a.!!!!.c", "a.W10.c", "a.e30.c"])
    def test_of_a_token_that_does_not(self, token):
        assert token_end(token) is None


class TestInCluster:
    @pytest.fixture
    def account(self, tmp_path: Path, monkeypatch) -> Path:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
        for name, text in (("ca.crt", "CA"), ("namespace", "console\n"), ("token", "first")):
            (tmp_path / name).write_text(text)
        return tmp_path

    def test_the_service_account_of_the_pod(self, account):
        access = in_cluster(account)
        assert (access.server, access.ca, access.namespace) == ("https://[fd00::1]:443", "CA", "console")
        assert access.token == "" and access.token_file == str(account / "token")

    def test_outside_of_a_cluster(self, account, tmp_path, monkeypatch):
        with pytest.raises(Unavailable, match="does not run in a pod"):
            in_cluster(tmp_path / "nowhere")
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
        with pytest.raises(Unavailable, match="does not run in a pod"):
            in_cluster(account)
