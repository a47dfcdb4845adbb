"""Each cluster's SSH authority: the key that the console signs terminals' certificates with.

It is made with the cluster's row; its public half is a field of the row, so that `Cluster.ref` carries it to the
provisioner, which has the login node trust it (`TrustedUserCAKeys` in sshd_config(5)). The private half is sealed and
opened only to sign (`slurm.authority`). Knows keys, not certificates and not SSH connections.
"""

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from console import secrets

KIND = "ssh-ca"


def establish(key: str) -> str:
    """Make and seal the authority of the cluster with this key. Returns the public key as OpenSSH writes it.

    Called once, in the transaction that makes the cluster's row. A second call makes a new one, which every login node
    has to learn by an apply before it trusts the console again.
    """
    private = Ed25519PrivateKey.generate()
    sealed = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    secrets.put(_owner(key), KIND, sealed)
    public = private.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return f"{public.decode()} quarterdeck-{key}"


def signing_key(key: str) -> Ed25519PrivateKey:
    """Open the private half. Raises Missing or Unavailable as `console.secrets.get` does."""
    private = serialization.load_ssh_private_key(secrets.get(_owner(key), KIND), password=None)
    assert isinstance(private, Ed25519PrivateKey)
    return private


def _owner(key: str) -> str:
    return f"cluster:{key}"
