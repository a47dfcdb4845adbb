"""Certificates and keys as texts: whether they can be used, and until when. Pure."""

import base64
import binascii
from datetime import UTC, datetime

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key


def authorities_problem(ca: str) -> str:
    """The end of a sentence about a bundle of authorities; empty when it is one."""
    try:
        x509.load_pem_x509_certificates(ca.encode())
    except ValueError:
        return "holds no certificate."
    return ""


def pair_problem(certificate: str, key: str) -> str:
    """The end of a sentence about a client certificate and its key; empty when they belong together."""
    if not key:
        return "has no client-key-data beside it."
    if not certificate:
        return "is missing beside client-key-data."
    try:
        shown = x509.load_pem_x509_certificates(certificate.encode())[0].public_key()
        own = load_pem_private_key(key.encode(), None).public_key()
    except (ValueError, TypeError):
        return "or client-key-data is no PEM text that can be read without a password."
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return (
        "" if shown.public_bytes(*form) == own.public_bytes(*form) else "does not belong to client-key-data."
    )


def certificate_end(certificate: str) -> datetime | None:
    """When a PEM certificate expires."""
    return x509.load_pem_x509_certificates(certificate.encode())[0].not_valid_after_utc


def token_end(token: str) -> datetime | None:
    """When a token expires, if it is a JWT that says so (RFC 7519, `exp`). It is not verified: that is the API's."""
    try:
        _, claims, _ = token.split(".")
        end = msgspec.json.decode(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))).get("exp")
        return datetime.fromtimestamp(int(end), UTC)
    except (
        ValueError,
        TypeError,
        AttributeError,
        binascii.Error,
        msgspec.MsgspecError,
        OverflowError,
        OSError,
    ):
        return None
