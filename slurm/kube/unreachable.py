"""Why no answer came from an API server: names, refused connections, time limits, certificates. Pure.

The client's libraries wrap what the operating system and OpenSSL said several times over; this looks for it along the
chain of causes, so that it needs none of the libraries' own types.
"""

import socket
import ssl
from collections.abc import Callable, Iterator

from console.errors import Unavailable
from slurm.kube.errors import Asked


def no_answer(asked: Asked, server: str, error: BaseException, limit_s: float) -> Unavailable:
    """The error for a request that ended without an HTTP answer."""
    for met in _chain(error):
        for kind, words in _REASONS:
            if isinstance(met, kind):
                message, hint = words(server, met, limit_s)
                return Unavailable(f"Could not {asked.words}: {message}", hint)
    return Unavailable(
        f"Could not {asked.words}: the connection to {server} broke ({type(error).__name__}).", "Try again."
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what it was raised from, and errors that it carries as arguments; innermost first."""
    if error is None:
        return
    yield from _chain(error.__cause__ or error.__context__)
    yield from (part for part in error.args if isinstance(part, BaseException))
    yield error


def _untrusted(server: str, met: BaseException, limit_s: float) -> tuple[str, str]:
    why = getattr(met, "verify_message", "") or "unknown reason"
    return (
        f"the certificate that {server} shows cannot be trusted: {why}.",
        "The region's kubeconfig needs the API server's certificate-authority-data and the name in its certificate; "
        "look at this machine's clock, too.",
    )


def _no_tls(server: str, met: BaseException, limit_s: float) -> tuple[str, str]:
    why = getattr(met, "reason", None) or type(met).__name__
    return (
        f"no encrypted connection to {server} ({why}).",
        "It is no TLS server, or it does not accept the region's client certificate.",
    )


def _no_name(server: str, met: BaseException, limit_s: float) -> tuple[str, str]:
    return (
        f"the name in {server} cannot be found.",
        "Look at the region's kubeconfig and at this machine's DNS.",
    )


def _refused(server: str, met: BaseException, limit_s: float) -> tuple[str, str]:
    return f"nothing listens at {server}.", "The API server is down, or a firewall refuses."


def _too_late(server: str, met: BaseException, limit_s: float) -> tuple[str, str]:
    return (
        f"{server} did not answer within {limit_s:g} s.",
        "The API server or the network on the way is stuck, or a firewall swallows it.",
    )


def _no_way(server: str, met: BaseException, limit_s: float) -> tuple[str, str]:
    return f"{server} cannot be reached ({getattr(met, 'strerror', None) or met}).", "Look at the network."


_Words = Callable[[str, BaseException, float], tuple[str, str]]
# The first that fits, so the narrower come first: all but the last are OSErrors.
_REASONS: tuple[tuple[type[BaseException], _Words], ...] = (
    (ssl.SSLCertVerificationError, _untrusted),
    (socket.gaierror, _no_name),
    (ConnectionRefusedError, _refused),
    (TimeoutError, _too_late),
    (ssl.SSLError, _no_tls),
    (OSError, _no_way),
)
