"""Public keys: what is taken, and the sentence for what is not."""

import pytest

from clusters.sshkeys import KeyRefused, parse_key
from tests.clusters.keys import ED25519, ED25519_FINGERPRINT, key_line, rsa

EC_POINT = b"\x04" + bytes(64)


def test_type_fingerprint_and_comment_are_read_as_ssh_keygen_prints_them():
    key = parse_key(ED25519)
    assert (key.type, key.fingerprint, key.comment) == ("ssh-ed25519", ED25519_FINGERPRINT, "ada@laptop")


@pytest.mark.parametrize(
    "line",
    [
        ED25519,
        f"  {ED25519}  ",
        ED25519.rsplit(" ", 1)[0],
        rsa(2048),
        rsa(4096),
        key_line("ecdsa-sha2-nistp256", b"nistp256", EC_POINT),
        key_line("sk-ssh-ed25519@openssh.com", bytes(32), b"ssh:"),
        key_line("ssh-ed25519", bytes(32), comment="Ada's new laptop (2030)"),
    ],
)
def test_good_keys_are_taken(line):
    assert parse_key(line).fingerprint.startswith("SHA256:")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1r", "private key"),
        ("-----begin rsa private key-----", "private key"),
        (key_line("ssh-dss", b"p", b"q", b"g", b"y"), "DSA"),
        (rsa(1024), "1024 bits"),
        (rsa(2047), "2047 bits"),
        (f'command="rm -rf /" {ED25519}', "begins with its type"),
        ("", "begins with its type"),
        ("ssh-ed25519", "damaged"),
        ("ssh-ed25519 not-base64!", "not base64"),
        (ED25519.replace("hBJs", "hB"), "not base64"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHod", "cut short"),
        (key_line("ssh-ed25519", bytes(31)), "32 bytes"),
        (key_line("ssh-ed25519", bytes(32), inside="ssh-rsa"), "not what its type says"),
        (key_line("ssh-rsa", b"\x01"), "not what its type says"),
        (f"{ED25519}\nssh-rsa AAAA", "one line"),
        (f"{ED25519}\x1b[2J", "one line"),
        (f"ssh-ed25519 {'A' * 9000}", "one line"),
    ],
)
def test_a_bad_key_is_refused_with_a_reason(line, sentence):
    with pytest.raises(KeyRefused, match=sentence):
        parse_key(line)


def test_a_refusal_never_repeats_a_private_key():
    with pytest.raises(KeyRefused) as caught:
        parse_key("-----BEGIN OPENSSH PRIVATE KEY----- c2VjcmV0")
    assert "c2VjcmV0" not in str(caught.value)
