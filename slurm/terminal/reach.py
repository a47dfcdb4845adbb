"""Where a terminal worker listens, and how the web's processes get there.

An address is the path of a unix socket, for processes of one machine, or `tls:HOST:PORT` between machines. A socket is
guarded by its folder. TLS is mutual: both ends have the same key, made from SECRET_KEY, which all processes of a
console share and nobody else has; so there is nothing to hand out, and who lacks it neither listens nor is heard.
"""

import asyncio
import os
import ssl
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import NameOID
from django.conf import settings

# Of `sun_path`, in unix(7), less its end.
LONGEST_PATH = 107
TLS = "tls:"
HIGHEST_PORT = 65535


def check(address: str) -> None:
    """Raises ValueError with a sentence when nothing could listen there, or for files beside it."""
    if not address.startswith(TLS):
        if len(os.fsencode(beside(address))) > LONGEST_PATH:
            raise ValueError(f"{address} is too long for a unix socket.")
        return
    host, port = _parts(address)
    if not host or not 0 < port < HIGHEST_PORT:
        raise ValueError(
            f"{address} names no host and port: write HOST:PORT, with the port after it free too."
        )


def beside(address: str) -> str:
    """Of the worker that holds terminals at `address`: where it moves files."""
    if address.startswith(TLS):
        host, port = _parts(address)
        return f"{TLS}[{host}]:{port + 1}" if ":" in host else f"{TLS}{host}:{port + 1}"
    return str(Path(address).with_suffix(".files"))


async def listen(address: str, protocol: Callable[[], asyncio.Protocol]) -> asyncio.Server:
    """A server that closes with `leave`. Raises OSError. A socket that a killed worker left there is replaced."""
    loop = asyncio.get_running_loop()
    if address.startswith(TLS):
        host, port = _parts(address)
        return await loop.create_server(protocol, host, port, ssl=_contexts(settings.SECRET_KEY)[0])
    path = Path(address)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return await loop.create_unix_server(protocol, address)


def leave(server: asyncio.Server, address: str) -> None:
    """Take no more connections; those that are open go on. Idempotent."""
    server.close()
    if not address.startswith(TLS):
        Path(address).unlink(missing_ok=True)


async def connect(
    address: str, *, limit: int, within_s: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Raises OSError (`ssl.SSLError` is one) and TimeoutError."""
    if address.startswith(TLS):
        host, port = _parts(address)
        context = _contexts(settings.SECRET_KEY)[1]
        return await asyncio.wait_for(asyncio.open_connection(host, port, ssl=context, limit=limit), within_s)
    return await asyncio.wait_for(asyncio.open_unix_connection(address, limit=limit), within_s)


def _parts(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix(TLS).rpartition(":")
    return host.strip("[]"), int(port) if port.isdecimal() else 0


@cache
def _contexts(secret: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The worker's and the web's. Each trusts the one certificate that it shows itself."""
    key, certificate = _identity(secret)
    return (
        _context(ssl.PROTOCOL_TLS_SERVER, key, certificate),
        _context(ssl.PROTOCOL_TLS_CLIENT, key, certificate),
    )


def _context(protocol: int, key: bytes, certificate: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=certificate.decode())
    _load(context, [key, certificate])
    return context


def _load(context: ssl.SSLContext, pems: Iterable[bytes]) -> None:
    """From memory that is a file by name alone: OpenSSL takes a chain from nowhere else, and the key is for no disk."""
    fd = os.memfd_create("terminal-link")
    try:
        os.write(fd, b"".join(pems))
        context.load_cert_chain(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def _identity(secret: str) -> tuple[bytes, bytes]:
    """Key and certificate, PEM. The same for the same secret, byte for byte: Ed25519 signs without chance."""
    seed = HKDF(hashes.SHA256(), 32, salt=None, info=b"quarterdeck terminal link 1").derive(secret.encode())
    key = Ed25519PrivateKey.from_private_bytes(seed)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "quarterdeck terminals")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, None)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private, certificate.public_bytes(serialization.Encoding.PEM)
