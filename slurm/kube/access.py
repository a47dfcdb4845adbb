"""How an API server is reached and who we are there, as read from a kubeconfig. Pure.

A kubeconfig is pasted by a person and then used by the console's own processes, so everything in it that would run a
command here, read a file here, send the traffic elsewhere or skip a check is refused, with what to do instead. Fields:
https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import yaml

from console.errors import Problem, Rejected
from slurm.kube.pem import authorities_problem, pair_problem

FIELD = "kubeconfig"
MOST_BYTES = 256 * 1024
_FLATTEN = (
    "`kubectl config view --raw --minify --flatten` prints a kubeconfig with the files' contents inside."
)
_ACCOUNT = (
    "Make a ServiceAccount for the console, bind it to the Role shown here, and use its token: "
    "`kubectl create token NAME --duration=8760h`, or a Secret of type kubernetes.io/service-account-token."
)
# Field of a cluster or user: what is wrong with it, and what to do.
_CLUSTER_REFUSED = {
    "certificate-authority": ("names a file, which the console does not read.", _FLATTEN),
    "insecure-skip-tls-verify": (
        "would let anybody pose as the API server.",
        "Leave it out and give certificate-authority-data.",
    ),
    "proxy-url": ("is not supported.", "Give the console a direct way to the API server."),
}
_USER_REFUSED = {
    "exec": ("would run a command on the console's machine.", _ACCOUNT),
    "auth-provider": ("would run a sign-in of its own on the console's machine.", _ACCOUNT),
    "client-certificate": ("names a file, which the console does not read.", _FLATTEN),
    "client-key": ("names a file, which the console does not read.", _FLATTEN),
    "tokenFile": ("names a file, which the console does not read.", "Put the token itself under `token`."),
    "username": ("is a password sign-in, which Kubernetes removed in 1.19.", _ACCOUNT),
    "password": ("is a password sign-in, which Kubernetes removed in 1.19.", _ACCOUNT),
    "as": ("acts in another's name, which is not supported.", "Use that account's own credential."),
    "as-uid": ("acts in another's name, which is not supported.", "Use that account's own credential."),
    "as-groups": ("acts in another's name, which is not supported.", "Use that account's own credential."),
    "as-user-extra": (
        "acts in another's name, which is not supported.",
        "Use that account's own credential.",
    ),
}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Access:
    """`server` is `https://host:port[/path]`; certificates and keys are PEM. An empty `ca` means the authorities that
    this machine trusts. `token_file` is read anew for each request: only a pod's own service account has one."""

    server: str
    ca: str = field(default="", repr=False)
    server_name: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    namespace: str = ""


def read_kubeconfig(text: str) -> Access:
    """The access of the current context. Raises Rejected with every problem found; their paths start with
    `kubeconfig.`."""
    cluster, user, namespace = _chosen(_document(text))
    problems = [*_cluster_problems(cluster), *_user_problems(user)]
    decoded = {
        entry.at(key): _pem(entry, key, problems)
        for entry, key in (
            (cluster, "certificate-authority-data"),
            (user, "client-certificate-data"),
            (user, "client-key-data"),
        )
    }
    ca, certificate, key = decoded.values()
    problems += _pem_problems(cluster, user, ca, certificate, key)
    if problems:
        raise Rejected("This kubeconfig cannot be used.", tuple(problems))
    return Access(
        server=cluster.text("server").rstrip("/"),
        ca=ca,
        server_name=cluster.text("tls-server-name"),
        token=user.text("token").strip(),
        certificate=certificate,
        key=key,
        namespace=namespace,
    )


@dataclass(frozen=True)
class _Entry:
    """One mapping of the file and where it stands there."""

    path: str
    fields: Mapping[str, Any]  # as YAML gives it

    def at(self, key: str) -> str:
        return f"{self.path}.{key}"

    def text(self, key: str) -> str:
        value = self.fields.get(key)
        return value if isinstance(value, str) else ""

    def problem(self, key: str, message: str, hint: str = "") -> Problem:
        return Problem(self.at(key), f"{key} {message}", hint)


def _document(text: str) -> Mapping[str, Any]:
    if len(text.encode()) > MOST_BYTES:
        raise _unusable(FIELD, f"This is larger than {MOST_BYTES >> 10} KiB: not a kubeconfig.")
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unusable(FIELD, "This is not YAML.", _place(error)) from error
    if not isinstance(document, dict) or "clusters" not in document:
        raise _unusable(FIELD, "This is not a kubeconfig.", f"It has no `clusters`. {_FLATTEN}")
    return document


def _place(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"Look at line {mark.line + 1}." if mark else ""


def _unusable(path: str, message: str, hint: str = "") -> Rejected:
    return Rejected("This kubeconfig cannot be used.", (Problem(path, message, hint),))


def _chosen(document: Mapping[str, Any]) -> tuple[_Entry, _Entry, str]:
    """The cluster, the user and the namespace of the current context."""
    current = document.get("current-context")
    if not isinstance(current, str) or not current:
        raise _unusable(
            f"{FIELD}.current-context",
            "current-context is missing, so it is not clear which cluster and user are meant.",
            "`kubectl config use-context NAME` sets it.",
        )
    context = _named(document, "contexts", "context", current)
    cluster = _named(document, "clusters", "cluster", context.text("cluster"))
    user = _named(document, "users", "user", context.text("user"))
    return cluster, user, context.text("namespace")


def _named(document: Mapping[str, Any], plural: str, single: str, name: str) -> _Entry:
    entries = document.get(plural)
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(single), dict):
            return _Entry(f"{FIELD}.{plural}[{index}].{single}", entry[single])
    raise _unusable(
        f"{FIELD}.{plural}", f"There is no {single} named “{name[:80]}” under {plural}.", _FLATTEN
    )


def _cluster_problems(cluster: _Entry) -> Iterator[Problem]:
    yield from _refused(cluster, _CLUSTER_REFUSED)
    try:
        parts = urlsplit(cluster.text("server"))
        loopback = parts.hostname in _LOOPBACK
        plain = (
            bool(parts.hostname) and not (parts.username or parts.query or parts.fragment) and parts.port != 0
        )
    except ValueError:
        yield cluster.problem("server", "is not an address.", "It looks like https://host:6443.")
        return
    if parts.scheme not in ("http", "https") or not plain:
        yield cluster.problem(
            "server", "is not the address of an API server.", "It looks like https://host:6443."
        )
    elif parts.scheme == "http" and not loopback:
        yield cluster.problem("server", "is not encrypted.", "Use its https:// address.")


def _user_problems(user: _Entry) -> Iterator[Problem]:
    yield from _refused(user, _USER_REFUSED)
    has_token, has_pair = bool(user.fields.get("token")), bool(user.fields.get("client-certificate-data"))
    if not has_token and not has_pair and not any(user.fields.get(key) for key in _USER_REFUSED):
        yield Problem(user.path, "The user has neither a token nor a client certificate.", _ACCOUNT)
    token = user.fields.get("token", "")
    if (
        not isinstance(token, str)
        or not token.strip().isascii()
        or any(mark.isspace() for mark in token.strip())
    ):
        yield user.problem("token", "is not a token: it has blanks or other strange characters in it.")


def _refused(entry: _Entry, reasons: Mapping[str, tuple[str, str]]) -> Iterator[Problem]:
    for key, (message, hint) in reasons.items():
        if entry.fields.get(key):
            yield entry.problem(key, message, hint)


def _pem(entry: _Entry, key: str, problems: list[Problem]) -> str:
    try:
        return base64.b64decode(entry.text(key), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        problems.append(entry.problem(key, "is not base64 of a PEM text.", _FLATTEN))
        return ""


def _pem_problems(cluster: _Entry, user: _Entry, ca: str, certificate: str, key: str) -> Iterator[Problem]:
    if ca and (wrong := authorities_problem(ca)):
        yield cluster.problem("certificate-authority-data", wrong, _FLATTEN)
    if (certificate or key) and (wrong := pair_problem(certificate, key)):
        yield user.problem("client-certificate-data", wrong, _FLATTEN)
