"""Certificates of one rig: an authority, and what it signs. Elliptic keys: a whole rig's worth takes milliseconds."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOOPBACK = "127.0.0.1"
LIFETIME = timedelta(days=365)
USAGES = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes

    def write(self, directory: Path, name: str) -> None:
        """As `name`.crt and `name`.key, the key for the owner alone."""
        (directory / f"{name}.crt").write_bytes(self.certificate)
        write_secret(directory / f"{name}.key", self.key)


class Authority:
    """Signs for everybody in a rig, persons and programs alike."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def of(cls, directory: Path) -> "Authority":
        """The one that signed what lies there, or a new one with everything that a rig's programs need."""
        if (directory / "ca.key").exists():
            return cls._read(directory)
        authority = cls._made()
        authority.issue("api", hosts=[LOOPBACK, "localhost"]).write(directory, "api")
        authority.issue("kubelet", hosts=[LOOPBACK, "localhost"]).write(directory, "kubelet")
        authority.issue("api", groups=["system:masters"]).write(directory, "kubelet-client")
        accounts = _new_key()
        write_secret(directory / "accounts.key", _key_pem(accounts))
        (directory / "accounts.pub").write_bytes(_public_pem(accounts))
        authority.pair.write(directory, "ca")  # last: where it is, all are
        return authority

    @classmethod
    def _made(cls) -> "Authority":
        key = _new_key()
        name = _name("rig", ())
        basic = x509.BasicConstraints(ca=True, path_length=0)
        unsigned = _unsigned(name, name, key, LIFETIME).add_extension(basic, critical=True)
        return cls(unsigned.sign(key, hashes.SHA256()), key)

    @classmethod
    def _read(cls, directory: Path) -> "Authority":
        key = serialization.load_pem_private_key((directory / "ca.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return cls(x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes()), key)

    @property
    def pair(self) -> Pair:
        return _pair(self._certificate, self._key)

    def issue(
        self,
        name: str,
        *,
        groups: Iterable[str] = (),
        hosts: Iterable[str] = (),
        lifetime: timedelta = LIFETIME,
    ) -> Pair:
        """For a user (common name, and organisations as groups) or a server (`hosts`: DNS names and addresses).

        A negative `lifetime` gives one that has expired already.
        """
        key = _new_key()
        unsigned = _unsigned(_name(name, groups), self._certificate.subject, key, lifetime)
        if names := [_host(host) for host in hosts]:
            unsigned = unsigned.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = unsigned.add_extension(USAGES, critical=False).sign(self._key, hashes.SHA256())
        return _pair(signed, key)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lifetime: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + lifetime)
    )


def _name(common: str, organisations: Iterable[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organisations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
