"""Certificates for login nodes: minted for each terminal, good for minutes, never stored.

The authority's key is the cluster's (`clusters.authority`); the login node trusts its public half, so no person's key
is kept anywhere and a certificate that leaks is soon worthless.
"""

import time
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import SSHCertificateBuilder, SSHCertificateType

from clusters import authority
from clusters.models import Cluster

# Clocks of console and login node may be this far apart.
SKEW_S = 60


@dataclass(frozen=True)
class Credential:
    """A private key made for one opening and the certificate over it, both as OpenSSH writes them."""

    key: str = field(repr=False)
    certificate: str = field(repr=False)


def public_key(cluster: Cluster) -> str:
    """What the login node must trust, as one line of its TrustedUserCAKeys file."""
    return cluster.ssh_ca


def certificate(cluster: Cluster, login: str, by: str, minutes: int = 5) -> Credential:
    """Let `by` sign in as `login` within `minutes`. The login node logs the key id, which names the person.

    Only a pty is permitted: no forwarding of ports, agents or displays (CERTIFICATES in ssh-keygen(1)).
    """
    key = Ed25519PrivateKey.generate()
    now = int(time.time())
    signed = (
        SSHCertificateBuilder()
        .public_key(key.public_key())
        .type(SSHCertificateType.USER)
        .serial(time.time_ns())
        .key_id(f"quarterdeck:{by}".encode())
        .valid_principals([login.encode()])
        .valid_after(now - SKEW_S)
        .valid_before(now + minutes * 60)
        .add_extension(b"permit-pty", b"")
        .sign(authority.signing_key(cluster.key))
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    return Credential(private.decode(), signed.public_bytes().decode())
