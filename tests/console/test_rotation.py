"""New sealing keys: every secret comes under the newest one, however often it is stopped on the way."""

from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command

from console import rotation, secrets
from console.errors import Unavailable
from console.models import Event, Secret
from console.rotation import Turn, rotate

OLD, NEW, OTHER = (Fernet.generate_key().decode() for _ in range(3))


@pytest.fixture
def three(db: None, settings) -> list[str]:
    """Three secrets under the old key; the new one has just been put above it."""
    Secret.objects.all().delete()
    settings.SEALING_KEYS = [OLD]
    owners = ["region:a", "region:b", "region:c"]
    for owner in owners:
        secrets.put(owner, "kubeconfig", f"value of {owner}".encode())
    settings.SEALING_KEYS = [NEW, OLD]
    return owners


def command() -> str:
    out = StringIO()
    call_command("secrets", "rotate", stdout=out, stderr=out)
    return out.getvalue()


def test_afterwards_the_newest_key_alone_opens_everything(three: list[str], settings) -> None:
    assert "3 sealed anew, 0 under the newest key already, 0 cannot" in command()
    settings.SEALING_KEYS = [NEW]
    assert [secrets.get(owner, "kubeconfig") for owner in three] == [
        f"value of {owner}".encode() for owner in three
    ]
    settings.SEALING_KEYS = [OLD]
    with pytest.raises(Unavailable):
        secrets.get(three[0], "kubeconfig")


def test_second_run_finds_nothing_to_do(three: list[str]) -> None:
    command()
    before = list(Secret.objects.filter(owner__in=three).values_list("sealed", flat=True))
    assert "0 sealed anew" in command()
    assert list(Secret.objects.filter(owner__in=three).values_list("sealed", flat=True)) == before


def test_stopped_halfway_it_loses_nothing_and_goes_on(three: list[str], settings) -> None:
    turns = rotate()
    assert next(turns).turn is Turn.RESEALED
    turns.close()
    assert [secrets.get(owner, "kubeconfig") for owner in three] == [
        f"value of {owner}".encode() for owner in three
    ]
    assert [turned.turn for turned in rotate()] == [Turn.KEPT, Turn.RESEALED, Turn.RESEALED]


def test_killed_within_a_row_the_row_stays_as_it_was(three: list[str], monkeypatch) -> None:
    def die(secret: Secret) -> Turn:
        secret.sealed = b"half"
        secret.save()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rotation, "_turn", die)
        with pytest.raises(KeyboardInterrupt):
            next(rotate())
    assert secrets.get(three[0], "kubeconfig") == b"value of region:a"


def test_secret_of_a_lost_key_is_named_and_the_others_are_done(three: list[str], settings, capsys) -> None:
    Secret.objects.filter(owner="region:b").update(sealed=Fernet(OTHER).encrypt(b"lost"))
    err = StringIO()
    with pytest.raises(CommandError, match="1 cannot be opened.*Keep the old keys"):
        call_command("secrets", "rotate", stderr=err)
    assert "kubeconfig of region:b" in err.getvalue()
    settings.SEALING_KEYS = [NEW]
    assert secrets.get("region:c", "kubeconfig") == b"value of region:c"


def test_rotation_is_written_down_without_a_value(three: list[str]) -> None:
    command()
    event = Event.objects.get()
    assert (event.verb, event.outcome) == ("secrets.rotate", "done") and "value of" not in str(event.detail)


def test_help_says_how(capsys) -> None:
    with pytest.raises(SystemExit):
        call_command("secrets", "--help")
    assert "Put a new key above the others" in capsys.readouterr().out
