"""Reading one OpenSSH public key line, so that only what sshd accepts, and nobody should fear, gets into a
spec.

Pure. The blob's layout is RFC 4253 6.6 (length-prefixed fields, the first repeats the type); sizes follow
OpenSSH's own refusals: no DSA (removed in 10.0), no RSA below 2048 bits.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

TYPES = frozenset(
    {
        "ssh-ed25519",
        "ssh-rsa",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
    }
)
BITS = {"ecdsa-sha2-nistp384": 384, "ecdsa-sha2-nistp521": 521}
LEAST_RSA_BITS = 2048
LONGEST_LINE = 8192


class KeyRefused(ValueError):
    """Its text is a sentence for the person who pasted the key."""


@dataclass(frozen=True)
class PublicKey:
    """`fingerprint` and `bits` are what `ssh-keygen -l` prints."""

    type: str
    fingerprint: str
    comment: str = ""
    bits: int = 256


def parse_key(line: str) -> PublicKey:
    """The key on `line`. Raises KeyRefused, whose text never repeats what may be a private key."""
    if "PRIVATE KEY" in line.upper():
        raise KeyRefused(
            "This is a private key: keep it to yourself and paste the file that ends in .pub. "
            "If it went anywhere else than this form, make a new one."
        )
    if len(line) > LONGEST_LINE or any(ord(c) < 32 or ord(c) == 127 for c in line):
        raise KeyRefused("A public key is one line, as in the file that ends in .pub.")
    type_, _, rest = line.strip().partition(" ")
    data, _, comment = rest.strip().partition(" ")
    if type_ in {"ssh-dss", "dsa"}:
        raise KeyRefused("DSA keys are too weak and sshd refuses them. Make one with: ssh-keygen -t ed25519")
    if type_ not in TYPES:
        raise KeyRefused(
            "A public key begins with its type, such as ssh-ed25519; options before it are not taken."
        )
    blob = _decoded(data)
    bits = _examine(type_, _fields(blob))
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return PublicKey(type_, f"SHA256:{digest}", comment.strip(), bits)


def keys_in(lines: Iterable[str]) -> list[tuple[str, PublicKey]]:
    """Each line with its key; what is no key is left out."""
    found = []
    for line in lines:
        with suppress(KeyRefused):
            found.append((line, parse_key(line)))
    return found


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise KeyRefused(
            "The key is damaged: its second word is not base64. Copy the whole line again."
        ) from error


def _fields(blob: bytes) -> list[bytes]:
    fields, at = [], 0
    while at < len(blob):
        size = int.from_bytes(blob[at : at + 4], "big")
        if at + 4 + size > len(blob):
            raise KeyRefused("The key is cut short. Copy the whole line again.")
        fields.append(blob[at + 4 : at + 4 + size])
        at += 4 + size
    return fields


def _examine(type_: str, fields: list[bytes]) -> int:
    """How many bits the key has."""
    least = 3 if type_ != "ssh-ed25519" else 2
    if len(fields) < least or fields[0] != type_.encode():
        raise KeyRefused(
            "The key is damaged: its inside is not what its type says. Copy the whole line again."
        )
    if type_ == "ssh-ed25519" and len(fields[1]) != 32:
        raise KeyRefused("The key is damaged: an Ed25519 key has 32 bytes. Copy the whole line again.")
    if type_ == "ssh-rsa":
        bits = int.from_bytes(fields[2], "big").bit_length()
        if bits < LEAST_RSA_BITS:
            raise KeyRefused(
                f"This RSA key has {bits} bits; sshd wants {LEAST_RSA_BITS}. "
                "Make one with: ssh-keygen -t ed25519"
            )
        return bits
    return BITS.get(type_, 256)
