"""A login node with another host key: refused, explained, and an admin's way out."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client
from playwright.sync_api import expect

from clusters.models import Cluster, Region
from console.models import Event, User
from slurm.host_keys import fingerprint
from slurm.models import HostKey
from tests.slurm.terminal.client import Page
from tests.slurm.terminal.conftest import TabOf
from tests.slurm.terminal.sshd import Sshd

Open = Callable[..., Page]
ACCEPT = "/t/research/c/demo/terminal/host-key/acceptance/"


def new_key() -> str:
    public = Ed25519PrivateKey.generate().public_key()
    return public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


def expect_key(key: str) -> None:
    """The platform says that the login node has this one."""
    region = Region.objects.get()
    region.config["host_key"] = key
    region.save()


@pytest.fixture
def changed(cluster: Cluster) -> str:
    expect_key(key := new_key())
    return key


def client_of(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def test_fingerprint_is_ssh_keygen_s(tmp_path: Path) -> None:
    key = new_key()
    (tmp_path / "key.pub").write_text(key + "\n")
    said = subprocess.run(
        ["ssh-keygen", "-lf", str(tmp_path / "key.pub")], capture_output=True, text=True, check=True
    )
    assert said.stdout.split()[1] == fingerprint(key)
    assert fingerprint("ssh-ed25519 !!!") == fingerprint("") == "unreadable"


def test_accepted_key_opens_terminals_until_the_platform_says_another(
    page: Open, changed: str, sshd: Sshd
) -> None:
    refused = page("mo").open()
    assert (refused["code"], "presented" in refused) == ("host-key", False)
    shown = fingerprint(sshd.host_key)
    assert client_of("mo").post(ACCEPT, {"fingerprint": shown}).status_code == 403
    assert page("mo").open()["code"] == "host-key"
    assert client_of("ada").post(ACCEPT, {"fingerprint": shown}).status_code == 302
    assert page("mo").open()["kind"] == "ready"
    event = Event.objects.get(verb="host-key.accept", outcome="done")
    assert (event.who, event.cluster) == ("ada", "demo")
    assert event.detail == {"from": fingerprint(changed), "to": shown}
    expect_key(new_key())
    assert page("mo").open()["code"] == "host-key"


def test_only_what_was_shown_can_be_accepted(page: Open, changed: str) -> None:
    page("mo").open()
    for wrong in (fingerprint(new_key()), fingerprint(changed), ""):
        assert client_of("ada").post(ACCEPT, {"fingerprint": wrong}).status_code == 409
    assert HostKey.objects.get().accepted_at is None


def test_admin_compares_and_accepts_in_the_browser(tab_of: TabOf, changed: str, sshd: Sshd) -> None:
    mo = tab_of("mo")
    mo.expect_state("Not connected")
    expect(mo.page.locator(".terminal-strip")).to_contain_text("does not show the host key")
    mo.page.get_by_role("button", name="Compare the keys").click()
    dialog = mo.page.get_by_role("dialog")
    expect(dialog).to_contain_text(fingerprint(changed))
    expect(dialog).to_contain_text(fingerprint(sshd.host_key))
    expect(dialog.get_by_role("button", name="Accept the new key")).to_be_disabled()
    ada = tab_of("ada")
    ada.page.get_by_role("button", name="Compare the keys").click()
    ada.page.get_by_role("button", name="Accept the new key").click()
    ada.expect_state("Connected")
