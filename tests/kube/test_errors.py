"""Refusals of an API server in words: each is an answer that a kube-apiserver 1.37 or a webhook gave."""

import json
import socket
import ssl

import pytest

from console.errors import Conflict, ConsoleError, Missing, Rejected, Unavailable
from slurm.kube.errors import Asked, Gone, Unpermitted, quota_sentence, refusal
from slurm.kube.unreachable import no_answer

APPLY = Asked("patch", "nodesets", "slinky.slurm.net", "lab", "apply NodeSet alpha-slinky")


def refused(code: int, message: str, reason: str = "", causes: tuple = (), **headers: str) -> ConsoleError:
    details = {"causes": list(causes)}
    status = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "details": details}
    return refusal(APPLY, code, json.dumps(status).encode(), **headers)


def problems(error: ConsoleError) -> list[tuple[str, str]]:
    assert isinstance(error, Rejected)
    return [(problem.path, problem.message) for problem in error.problems]


def test_an_unknown_credential_asks_for_a_new_kubeconfig():
    error = refused(401, "Unauthorized")
    assert isinstance(error, Unavailable)
    assert "does not accept the region's credential" in error.message and "Renew" in error.hint


def test_a_missing_right_is_named():
    error = refused(
        403,
        'nodesets.slinky.slurm.net "alpha-slinky" is forbidden: User "system:serviceaccount:ops:console" cannot patch '
        'resource "nodesets" in API group "slinky.slurm.net" in the namespace "lab"',
    )
    assert isinstance(error, Unpermitted)
    assert (error.verb, error.resource, error.namespace) == ("patch", "nodesets", "lab")
    assert "may not patch nodesets.slinky.slurm.net in namespace lab" in error.message


def test_a_missing_right_to_a_part_of_all_namespaces():
    error = refused(
        403,
        'pods is forbidden: User "u" cannot create resource "pods/exec" in API group "" at the cluster scope',
    )
    assert "may not create pods/exec in the whole region" in error.message


def test_a_quota_says_which_and_how_much():
    text = (
        'pods "x" is forbidden: exceeded quota: team, requested: pods=2,cpu=4, used: pods=9,cpu=1, '
        "limited: pods=10,cpu=8"
    )
    error = refused(403, text)
    assert problems(error) == [("", quota_sentence(text))]
    assert (
        quota_sentence(text)
        == "The quota team is used up: asked for pods=2,cpu=4, used pods=9,cpu=1, limit pods=10,cpu=8."
    )


def test_a_namespace_that_is_going_is_a_conflict():
    error = refused(
        403,
        'configmaps "a" is forbidden: unable to create new content in namespace lab because it is being terminated',
    )
    assert isinstance(error, Conflict) and "being deleted" in error.message


def test_other_forbidding_is_somebody_elses_policy():
    error = refused(403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest": privileged')
    assert problems(error)[0][0] == "" and "PodSecurity" in error.message


def test_another_field_manager_and_its_fields_are_named():
    causes = tuple(
        {"reason": "FieldManagerConflict", "message": f'conflict with "{who}" using v1beta1', "field": field}
        for who, field in (
            ("kubectl", ".spec.replicas"),
            ("helm", ".spec.slurmd"),
            ("kubectl", ".spec.extraConf"),
        )
    )
    error = refused(409, "Apply failed with 3 conflicts: ...", "Conflict", causes)
    assert isinstance(error, Conflict)
    assert "kubectl holds spec.replicas, spec.extraConf; helm holds spec.slurmd" in error.message


def test_what_is_there_already_and_what_was_changed_meanwhile():
    assert "there already" in refused(409, 'configmaps "a" already exists', "AlreadyExists").message
    changed = 'Operation cannot be fulfilled on nodesets "a": the object has been modified; please apply'
    assert "same moment" in refused(409, changed, "Conflict").hint


def test_each_invalid_field_is_a_problem():
    causes = (
        {
            "reason": "FieldValueInvalid",
            "message": 'Invalid value: "X_": must be lower case',
            "field": "spec.hostname",
        },
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.controllerRef.name"},
    )
    error = refused(422, "NodeSet is invalid: ...", "Invalid", causes)
    assert problems(error) == [
        ("spec.hostname", 'Invalid value: "X_": must be lower case'),
        ("spec.controllerRef.name", "Required value"),
    ]


@pytest.mark.parametrize("code", [400, 403, 422])
def test_a_webhook_and_the_fields_it_refuses(code):
    text = (
        'admission webhook "nodeset-v1beta1.kb.io" denied the request: [spec.controllerRef: Invalid value: "b": '
        "field is immutable, spec.ssh.sssdConfRef.name: Required value: must be set]"
    )
    error = refused(code, text)
    assert "nodeset-v1beta1.kb.io refuses it" in error.message
    assert problems(error) == [
        ("spec.controllerRef", 'Invalid value: "b": field is immutable'),
        ("spec.ssh.sssdConfRef.name", "Required value: must be set"),
    ]


def test_a_webhook_without_fields_or_words():
    assert problems(refused(403, 'admission webhook "w" denied the request: no')) == [("", "no")]
    assert problems(refused(403, 'admission webhook "w" denied the request without explanation'))[0][1]


def test_a_webhook_that_is_away_can_be_asked_again():
    text = (
        'Internal error occurred: failed calling webhook "controller-v1beta1.kb.io": failed to call webhook: '
        'Post "https://slurm-operator-webhook.slinky.svc:443/": the server could not find the requested resource'
    )
    error = refused(500, text, "InternalError")
    assert isinstance(error, Unavailable)
    assert (
        "controller-v1beta1.kb.io cannot be reached" in error.message
        and "slurm-operator-webhook" in error.hint
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            500,
            "failed to create typed patch object (lab/a; slinky.slurm.net/v1beta1, Kind=NodeSet): .spec.gres: field "
            "not declared in schema",
        ),
        (
            400,
            'NodeSet in version "v1beta1" cannot be handled: strict decoding error: unknown field "spec.gres"',
        ),
    ],
)
def test_a_field_that_this_operator_does_not_have_is_no_passing_trouble(code, text):
    assert problems(refused(code, text)) == [("spec.gres", "This region's API does not know this field.")]


def test_what_is_not_there_and_what_is_forgotten():
    assert isinstance(refused(404, 'pods "x" not found', "NotFound"), Missing)
    assert isinstance(refused(410, "too old resource version: 1 (2)", "Expired"), Gone)


def test_too_much_at_once_says_when_to_come_back():
    error = refused(429, "too many requests", "TooManyRequests", retry_after="7")
    assert isinstance(error, Unavailable) and "in 7 s" in error.hint


@pytest.mark.parametrize(
    "body", [b"<html>502 Bad Gateway</html>", b"", b"\xff\xfe", b"[1]", b'{"kind": "Status", "details": 3}']
)
def test_answers_that_are_no_status(body):
    error = refusal(APPLY, 502, body)
    assert isinstance(error, Unavailable) and "answered 502" in error.message


def test_hostile_words_are_cut_and_cleaned():
    message = refused(500, "\x1b[31m" + "x" * 5000 + "\n").message
    assert len(message) < 800 and message.isprintable()


def wrapped(inner: Exception) -> Exception:
    """As libraries do it."""
    try:
        try:
            raise inner
        except Exception as error:
            raise RuntimeError("Connection broken", error) from error
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("met", "words"),
    [
        (ConnectionRefusedError(111, "refused"), "nothing listens"),
        (socket.gaierror(-2, "Name or service not known"), "cannot be found"),
        (TimeoutError(), "did not answer within 5 s"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER]"), "no encrypted connection"),
        (ConnectionResetError(104, "Connection reset by peer"), "Connection reset"),
        (ValueError("?"), "broke"),
    ],
)
def test_why_nobody_answered(met, words):
    error = no_answer(APPLY, "https://10.0.0.1:6443", wrapped(met), 5)
    assert isinstance(error, Unavailable)
    assert words in error.message and error.message.startswith(
        "Could not apply NodeSet alpha-slinky in namespace lab"
    )
