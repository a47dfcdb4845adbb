"""`manage.py demo` over what an earlier run left in run.json, whole or broken."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from clusters.models import Region
from console import secrets
from console.models import User

pytestmark = pytest.mark.django_db


def demo(path: Path) -> dict[str, dict[str, str]]:
    call_command("demo", run_json=path, url="http://127.0.0.1:1")
    users: dict[str, dict[str, str]] = json.loads(path.read_text())["users"]
    return users


def test_a_second_run_keeps_the_passwords(tmp_path: Path) -> None:
    assert demo(tmp_path / "run.json") == demo(tmp_path / "run.json")


@pytest.mark.parametrize(
    "broken",
    ["", "[[[", "null", "[]", "{}", '{"users": 5}', '{"users": {"ada": {}}}', '{"users": {"ada": null}}'],
)
def test_a_broken_file_costs_new_passwords_and_not_the_start(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(broken)
    ada = demo(path)["ada"]
    assert User.objects.get(username="ada").check_password(ada["password"])
    assert path.stat().st_mode & 0o777 == 0o600


def test_kubernetes_that_runs_beside_it_is_a_region(tmp_path: Path, settings) -> None:  # type: ignore[no-untyped-def]
    settings.VAR_DIR = tmp_path
    demo(tmp_path / "run.json")
    assert not Region.objects.filter(slug="kube").exists()
    (tmp_path / "kube").mkdir()
    for text in (b"first", b"first", b"second"):
        (tmp_path / "kube" / "kubeconfig").write_bytes(text)
        demo(tmp_path / "run.json")
        assert secrets.get("region:kube", "kubeconfig") == text
    assert Region.objects.get(slug="kube").plans.count() == 2
