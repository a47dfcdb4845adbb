"""`manage.py demo` over what an earlier run left in run.json, whole or broken."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command

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
