"""Certificates for login nodes: minted for each terminal, or over a person's own key, good for minutes, never stored.

The authority's key is the cluster's (`clusters.authority`); the login node trusts its public half, so no person's key
is kept anywhere and a certificate that leaks is soon worthless.
"""

import time
from dataclasses import dataclass, field

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    SSHCertificate,
    SSHCertificateBuilder,
    SSHCertificateType,
    load_ssh_public_key,
)

from clusters import authority
from clusters.models import Cluster
from clusters.sshkeys import KeyRefused, PublicKey, parse_key

# Clocks of console and login node may be this far apart.
SKEW_S = 60
# What a certificate permits (CERTIFICATES in ssh-keygen(1)). The console's own terminals need a pty alone. A person's
# own client also forwards ports: VS Code Remote works through them. Neither gets agents or displays.
TERMINAL = (b"permit-pty",)
CLIENT = (b"permit-port-forwarding", b"permit-pty")


@dataclass(frozen=True)
class Credential:
    """A private key made for one opening and the certificate over it, both as OpenSSH writes them."""

    key: str = field(repr=False)
    certificate: str = field(repr=False)


def public_key(cluster: Cluster) -> str:
    """What the login node must trust, as one line of its TrustedUserCAKeys file."""
    return cluster.ssh_ca


@dataclass(frozen=True)
class Signed:
    """A certificate over somebody's own key; times are seconds since 1970."""

    certificate: str
    key: PublicKey
    serial: int
    valid_before: int


def certificate(cluster: Cluster, login: str, by: str, minutes: int = 5) -> Credential:
    """Let `by` sign in as `login` within `minutes`, in a terminal, with a key made for it."""
    key = Ed25519PrivateKey.generate()
    signed = _signed(cluster, key.public_key(), login, by, minutes, TERMINAL)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    return Credential(private.decode(), signed.public_bytes().decode())


def sign(cluster: Cluster, login: str, by: str, line: str, minutes: int) -> Signed:
    """Let `by` sign in as `login` within `minutes`, with the key whose public half is `line`. Raises KeyRefused."""
    line = line.strip()
    key = parse_key(line)
    if key.type.startswith("sk-"):
        raise KeyRefused(
            "Keys of security keys (sk-...) are not signed here. Use one made by: ssh-keygen -t ed25519"
        )
    try:
        public = load_ssh_public_key(" ".join(line.split()[:2]).encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise KeyRefused("The key is damaged. Copy the whole line again.") from error
    assert isinstance(public, RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey)
    signed = _signed(cluster, public, login, by, minutes, CLIENT)
    return Signed(signed.public_bytes().decode(), key, signed.serial, signed.valid_before)


def _signed(
    cluster: Cluster,
    key: RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey,
    login: str,
    by: str,
    minutes: int,
    permits: tuple[bytes, ...],
) -> SSHCertificate:
    """The login node logs the key id, which names the person."""
    now = int(time.time())
    builder = (
        SSHCertificateBuilder()
        .public_key(key)
        .type(SSHCertificateType.USER)
        .serial(time.time_ns())
        .key_id(f"quarterdeck:{by}".encode())
        .valid_principals([login.encode()])
        .valid_after(now - SKEW_S)
        .valid_before(now + minutes * 60)
    )
    for permit in permits:
        builder = builder.add_extension(permit, b"")
    return builder.sign(authority.signing_key(cluster.key))
