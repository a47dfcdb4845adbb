"""Whose files are on the login node: how `du` is read, and the note that dialogs show."""

import pytest

from clusters.provisioner import Home
from console.errors import Unavailable
from slurm.homes import homes_in
from tests.cast import fake
from tests.clusters.test_pages import words

pytestmark = pytest.mark.django_db
CLUSTER = "/t/research/c/tiny/"


def test_homes_are_read_the_largest_first_without_empty_ones_and_sums():
    printed = (
        b"40\t/root\0"
        + b"8\t/home/empty\0"
        + b"2048\t/home/ada\0"
        + b"4096\t/home/b\n\xff\0"
        + b"6152\t/home\0"
    )
    assert homes_in(printed) == (
        Home("b\n\ufffd", 4096 * 1024),
        Home("ada", 2048 * 1024),
        Home("root", 40 * 1024),
    )


@pytest.mark.parametrize(
    "printed", [b"", b"nonsense\0", b"x\t/home/ada\0", b"100\t/home/ada/deep\0", b"100\t/\0"]
)
def test_what_is_no_home_is_left_out(printed):
    assert homes_in(printed) == ()


@pytest.fixture
def ben(client, cast, cluster):
    client.force_login(cast.ben.user)
    return client


def test_the_note_names_who_keeps_how_much(ben):
    text = words(ben.get(f"{CLUSTER}homes/").content.decode())
    assert "2 people keep 3 GiB on the login node itself. ada 3 GiB , root 1 MiB . What is on volumes" in text


def test_it_says_why_nobody_knows(ben, cluster):
    fake(cluster).terminate(lambda text: None)
    answer = ben.get(f"{CLUSTER}homes/")
    assert answer.status_code == 200 and "is not known. The login node is not up." in words(
        answer.content.decode()
    )


def test_a_dialog_that_loses_homes_asks_for_them(ben):
    assert f'hx-get="{CLUSTER}homes/"' in ben.get(f"{CLUSTER}restart/login/").content.decode()
    assert "homes/" not in ben.get(f"{CLUSTER}restart/controller/").content.decode()


def test_who_may_not_restart_anything_does_not_see_what_others_keep(client, cast, cluster):
    client.force_login(cast.mo.user)
    assert client.get(f"{CLUSTER}homes/").status_code == 403


def test_a_platform_that_cannot_tell_in_time_is_an_answer(ben, cluster, monkeypatch):
    def late(self: object) -> tuple[Home, ...]:
        raise Unavailable("du did not answer within 4 s.")

    monkeypatch.setattr("tests.fakes.FakeProvisioner.homes", late)
    assert "du did not answer within 4 s." in ben.get(f"{CLUSTER}homes/").content.decode()
