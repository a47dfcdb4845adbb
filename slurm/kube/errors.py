"""What an API server refuses with, as ConsoleErrors. The only place that reads its texts. Pure.

A refusal is a `Status` object: https://kubernetes.io/docs/reference/using-api/api-concepts/ and
staging/src/k8s.io/apimachinery/pkg/api/errors of Kubernetes, whose wording (1.29 to 1.37) is matched here. Where a text
does not fit, it is shown as it is: shortened, without control characters.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from console.errors import Conflict, ConsoleError, Missing, Problem, Rejected, Unavailable

_LONGEST = 600
_RENEW = "Renew the region's kubeconfig."
_WEBHOOK_DOWN = (
    "Nothing can be created or changed while it is away. If it is the Slinky operator's, look at the Deployment "
    "slurm-operator-webhook and its certificate (SlinkyProject/slurm-operator issue 96)."
)
_CANNOT = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_QUOTA = re.compile(r"exceeded quota: (\S+), requested: (.+?), used: (.+?), limited: (.+)$", re.S)
_WEBHOOK = re.compile(
    r'admission webhook "([^"]+)" denied the request(?:: | without explanation)?(.*)$', re.S
)
_WEBHOOK_CALL = re.compile(r'failed calling webhook "([^"]+)":(.*)$', re.S)
_UNDECLARED = re.compile(r"(\.[\w.\[\]=\"-]+): field not declared in schema")
_MISTYPED = re.compile(r"\.([\w.\[\]=\"-]+): (expected [^,;]+, got \w+)")
_UNKNOWN = re.compile(r'unknown field "([^"]+)"')
# `spec.clusterName: Invalid value: "x": must ...` as field.Error prints it.
_FIELD = re.compile(
    r"(?P<path>[A-Za-z][\w.\[\]\"/-]*): "
    r"(?P<text>(?:Invalid value|Required value|Forbidden|Not found|Unsupported value|Duplicate value|Too long|"
    r"Too many|Internal error)\b.*?)(?=, [A-Za-z][\w.\[\]\"/-]*: (?:Invalid value|Required value|Forbidden|Not found|"
    r"Unsupported value|Duplicate value|Too long|Too many|Internal error)\b|\]?$)",
    re.S,
)


@dataclass(frozen=True)
class Asked:
    """One request in words and in the terms of permissions: `verb` as RBAC has it, `resource` with its part
    (`pods/exec`); `what` completes "Could not ..." for a person (`apply NodeSet alpha-slinky`)."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    what: str = ""

    @property
    def words(self) -> str:
        inside = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.what or f'{self.verb} {self.resource}'}{inside}"


class Unpermitted(ConsoleError):
    """The region's account lacks a right. Asking again does not help; the Role must be extended."""

    code = "unpermitted"
    status = 502

    def __init__(
        self, verb: str, resource: str, namespace: str = "", *, group: str = "", user: str = ""
    ) -> None:
        self.verb, self.resource, self.namespace, self.group = verb, resource, namespace, group
        where = f"in namespace {namespace}" if namespace else "in the whole region"
        account = f"The region's account ({user})" if user else "The region's account"
        super().__init__(
            f"{account} may not {verb} {resource}{f'.{group}' if group else ''} {where}.",
            "The region's page shows the Role to apply.",
        )


@dataclass(frozen=True)
class Holder:
    """Another manager of a field: by server-side apply if `applies`, otherwise by a change of its own."""

    manager: str
    field: str
    applies: bool


class Held(Conflict):
    """Fields of a server-side apply that other managers hold."""

    code = "held"

    def __init__(self, message: str, hint: str, holders: tuple[Holder, ...]) -> None:
        super().__init__(message, hint)
        self.holders = holders


class Gone(Unavailable):
    """The API server no longer has the history that was asked for (410): list again."""

    code = "gone"


def refusal(asked: Asked, code: int, body: bytes, retry_after: str = "") -> ConsoleError:
    """The error for an answer with HTTP status `code`."""
    status = _status(body)
    text = _tidy(str(status.get("message") or body[:_LONGEST].decode("utf-8", "replace")))
    raw_details = status.get("details")
    details = raw_details if isinstance(raw_details, dict) else {}
    if found := _WEBHOOK_CALL.search(text):
        return _webhook_away(asked, found)
    if found := _WEBHOOK.search(text):
        return _denied(asked, found)
    if code == 404:
        return Missing(f"Could not {asked.words}: {text or 'it is not there'}.".replace("..", "."))
    if code in _BY_CODE:
        return _BY_CODE[code](asked, text, details)
    # Server-side apply answers 500 to a field or a type that the schema does not have (seen with 1.37).
    if code in (400, 413, 415) or "failed to create typed patch object" in text:
        return _badly_written(asked, text, details)
    return _for_now(asked, code, text, retry_after)


def quota_sentence(text: str) -> str:
    """What a refusal or an event says about a quota: which, asked, used, limit. Empty when it is about none."""
    found = _QUOTA.search(text)
    if not found:
        return ""
    name, requested, used, limited = (part.strip() for part in found.groups())
    return f"The quota {name} is used up: asked for {requested}, used {used}, limit {limited}."


def field_problems(text: str) -> tuple[Problem, ...]:
    """The fields that a validation text complains about, as problems by path."""
    return tuple(Problem(found["path"], _capital(found["text"])) for found in _FIELD.finditer(text))


def _status(body: bytes) -> Mapping[str, Any]:
    try:
        status = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    return status if isinstance(status, dict) and status.get("kind") == "Status" else {}


def _tidy(text: str) -> str:
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _unknown_credential(asked: Asked, text: str, details: Mapping[str, Any]) -> ConsoleError:
    return Unavailable(
        f"Could not {asked.words}: the API server does not accept the region's credential (any more).",
        f"It has expired, was rotated or its account was deleted. {_RENEW}",
    )


def _forbidden(asked: Asked, text: str, details: Mapping[str, Any]) -> ConsoleError:
    if found := _CANNOT.search(text):
        return Unpermitted(
            *(found["verb"], found["resource"], found["namespace"] or ""),
            group=found["group"],
            user=found["user"],
        )
    if sentence := quota_sentence(text):
        return Rejected(sentence, (Problem("", sentence),), "Ask for a larger quota, or free something.")
    if "being terminated" in text:
        return Conflict(
            f"Could not {asked.words}: the namespace is being deleted.",
            "Wait until it is gone, then try again.",
        )
    # What is left of 403 is admission: Pod Security, LimitRange, quotas that demand limits, policies.
    return _refused(asked, text, field_problems(text))


def _conflict(asked: Asked, text: str, details: Mapping[str, Any]) -> ConsoleError:
    held = [cause for cause in _causes(details) if cause.get("reason") == "FieldManagerConflict"]
    if held:
        return _held_by_others(asked, held)
    if "already exists" in text:
        return Conflict(f"Could not {asked.words}: it is there already.")
    return Conflict(f"Could not {asked.words}: {text}", "Somebody changed it at the same moment; try again.")


def _held_by_others(asked: Asked, held: list[Mapping[str, Any]]) -> Held:
    holders = tuple(_holder(cause) for cause in held)
    managers = dict.fromkeys(holder.manager for holder in holders)
    fields = {m: ", ".join(holder.field for holder in holders if holder.manager == m) for m in managers}
    owners = "; ".join(f"{manager} holds {paths}" for manager, paths in fields.items())
    return Held(
        f"Could not {asked.words}: {_tidy(owners)}.",
        "Take these fields out of the other tool's manifest, or leave them to it.",
        holders,
    )


def _holder(cause: Mapping[str, Any]) -> Holder:
    """`conflict with "kubectl-edit" using v1`; of a manager that applies, nothing follows its name."""
    message = str(cause.get("message"))
    found = re.search(r'conflict with "([^"]+)"', message)
    return Holder(
        found[1] if found else "somebody else", str(cause.get("field")).lstrip("."), " using " not in message
    )


def _invalid(asked: Asked, text: str, details: Mapping[str, Any]) -> ConsoleError:
    problems = tuple(
        Problem(
            str(cause.get("field") or "").removeprefix("<nil>"), _capital(_tidy(str(cause.get("message"))))
        )
        for cause in _causes(details)
    )
    return _refused(asked, text, problems or field_problems(text))


def _history_gone(asked: Asked, text: str, details: Mapping[str, Any]) -> ConsoleError:
    return Gone(f"Could not {asked.words}: {text}")


_BY_CODE = {
    401: _unknown_credential,
    403: _forbidden,
    409: _conflict,
    410: _history_gone,
    422: _invalid,
}


def _badly_written(asked: Asked, text: str, details: Mapping[str, Any]) -> Rejected:
    """A field that the region's CRDs or API do not have, or have otherwise; or a body that is no such object at all."""
    mistyped = tuple(Problem(path, _capital(why)) for path, why in _MISTYPED.findall(text))
    unknown = [found.lstrip(".") for found in (*_UNDECLARED.findall(text), *_UNKNOWN.findall(text))]
    problems = tuple(Problem(path, "This region's API does not know this field.") for path in unknown)
    return _refused(asked, text, (*mistyped, *problems) or field_problems(text))


def _denied(asked: Asked, found: re.Match[str]) -> Rejected:
    name, text = found[1], found[2].strip() or "It gave no reason."
    problems = field_problems(text) or (Problem("", text),)
    return Rejected(
        f"Could not {asked.words}: the admission webhook {name} refuses it: {text}",
        problems,
        "Change what it names.",
    )


def _webhook_away(asked: Asked, found: re.Match[str]) -> Unavailable:
    why = _tidy(found[2]).removeprefix("failed to call webhook: ")
    return Unavailable(
        f"Could not {asked.words}: the admission webhook {found[1]} cannot be reached: {why}", _WEBHOOK_DOWN
    )


def _refused(asked: Asked, text: str, problems: tuple[Problem, ...]) -> Rejected:
    return Rejected(f"Could not {asked.words}: {text}", problems or (Problem("", text),))


def _for_now(asked: Asked, code: int, text: str, retry_after: str) -> Unavailable:
    if code == 429:
        again = f" in {retry_after} s" if retry_after.isdigit() else " later"
        return Unavailable(
            f"Could not {asked.words}: the API server has too much to do ({text or code}).",
            f"Try again{again}.",
        )
    return Unavailable(
        f"Could not {asked.words}: the API server answered {code}: {text}",
        "Try again; if it stays, look at the API server's log.",
    )


def _causes(details: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    causes = details.get("causes")
    return (cause for cause in (causes if isinstance(causes, list) else ()) if isinstance(cause, dict))
