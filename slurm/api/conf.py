"""slurm.conf of one cluster: read it, have a text checked, ask for a change.

A text comes as the whole file (`text`, with the platform's lines in it as they were read) or as the user's own block
alone (`settings`); lines of problems count in what was sent.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.acts import Edit
from clusters.api.base import ClusterView, checked
from clusters.api.previews import StartSerializer, hold_to, when_of
from clusters.api.serializers import ChangeSerializer
from console.errors import Problem, Rejected
from console.roles import Action
from slurm.checks.conf import PATH
from slurm.configuration import Configuration, in_file, propose_conf, read, read_revision, review

EXAMPLE = "# priority by age\nPriorityType=priority/multifactor\nPriorityWeightAge=5000\n"


class ConfigurationSerializer(serializers.Serializer[Any]):
    """`first_line` to `last_line` of `text` are the user's, and `settings` is that block. `drift` is a diff of the
    controller's own file against what was applied."""

    revision = serializers.IntegerField()
    text = serializers.CharField()
    settings = serializers.CharField()
    first_line = serializers.IntegerField()
    last_line = serializers.IntegerField()
    drift = serializers.CharField()


class ConfTextSerializer(serializers.Serializer[Any]):
    """Either the whole file or the user's block."""

    text = serializers.CharField(
        required=False, max_length=2_000_000, trim_whitespace=False, allow_blank=True
    )
    settings = serializers.CharField(
        required=False, max_length=600_000, trim_whitespace=False, allow_blank=True
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("text" in attrs) == ("settings" in attrs):
            raise serializers.ValidationError({"settings": "Send either `settings` or `text`."})
        return super().validate(attrs)


class ConfProposedSerializer(ConfTextSerializer, StartSerializer):
    base = serializers.IntegerField(min_value=1, help_text="The revision that you read.")


class ConfCheckSerializer(ConfTextSerializer):
    base = serializers.IntegerField(
        min_value=1, required=False, help_text="The current revision if left out."
    )
    shadow = serializers.BooleanField(default=True, help_text="Let a shadow controller read a copy, too.")


class ConfProblemSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    blocking = serializers.BooleanField()


class ConfLineSerializer(serializers.Serializer[Any]):
    op = serializers.CharField()
    old_line = serializers.IntegerField(allow_null=True)
    new_line = serializers.IntegerField(allow_null=True)
    old = serializers.CharField()
    new = serializers.CharField()
    key = serializers.CharField()
    cost = serializers.CharField()
    reason = serializers.CharField()


class ConfReviewSerializer(serializers.Serializer[Any]):
    """`lines` are the changed ones, numbered in the whole file; `cost` is the dearest of theirs."""

    base = serializers.IntegerField()
    refused = serializers.BooleanField()
    problems = ConfProblemSerializer(many=True)
    cost = serializers.ChoiceField(choices=["none", "reconfigure", "restart"])
    jobs = serializers.CharField()
    lines = ConfLineSerializer(many=True)


class SlurmConf(ClusterView):
    """The file as the current revision has it, and a change of the user's part."""

    actions = {"GET": Action.VIEW, "PUT": Action.CHANGE_CLUSTER}

    @extend_schema(responses=ConfigurationSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(ConfigurationSerializer(read(self.door.cluster)).data)

    @extend_schema(
        request=ConfProposedSerializer,
        responses={202: ChangeSerializer},
        examples=[OpenApiExample("The block", value={"base": 4, "settings": EXAMPLE}, request_only=True)],
    )
    def put(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(ConfProposedSerializer(data=request.data))
        found = self.door.cluster
        before = read_revision(found, data["base"])
        text, spec = _whole(before, data), found.spec
        after = spec.with_slurm_conf(review(found, text, base=data["base"], shadow=False).settings)
        hold_to(found, Edit(spec, after), data["promise"])
        try:
            change = propose_conf(self.door, text, data["base"], start_at=when_of(data))
        except Rejected as refusal:
            raise Rejected(
                refusal.message, _as_sent(refusal.problems, before, data), refusal.hint
            ) from refusal
        return Response(ChangeSerializer(change).data, status=202)


class SlurmConfCheck(ClusterView):
    """What speaks against a text and what it would cost. Touches nothing."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(
        request=ConfCheckSerializer,
        responses=ConfReviewSerializer,
        examples=[
            OpenApiExample("The block", value={"settings": EXAMPLE}, request_only=True),
            OpenApiExample(
                "A misspelt key",
                value={
                    "base": 4,
                    "refused": True,
                    "problems": [
                        {
                            "path": "slurm_conf",
                            "message": "Line 1: PreempMode is not a key of slurm.conf.",
                            "hint": "Did you mean PreemptMode?",
                            "line": 1,
                            "blocking": True,
                        }
                    ],
                    "cost": "restart",
                    "jobs": "daemons restart, 3 running jobs go on and the queue is kept",
                    "lines": [],
                },
                response_only=True,
            ),
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(ConfCheckSerializer(data=request.data))
        current = read(self.door.cluster)
        base = data.get("base", current.revision)
        before = current if base == current.revision else read_revision(self.door.cluster, base)
        found = review(self.door.cluster, _whole(before, data), base=base, shadow=data["shadow"])
        answer = {
            "base": found.base,
            "refused": found.is_refused,
            "problems": [asdict(problem) for problem in _as_sent(found.problems, before, data)],
            "cost": found.cost.value,
            "jobs": found.jobs,
            "lines": [asdict(line) for line in found.changed],
        }
        return Response(ConfReviewSerializer(answer).data)


def _whole(before: Configuration, data: Mapping[str, Any]) -> str:
    return str(data["text"]) if "text" in data else before.with_settings(str(data["settings"]))


def _as_sent(
    problems: tuple[Problem, ...], before: Configuration, data: Mapping[str, Any]
) -> tuple[Problem, ...]:
    """Lines of the block where the block was sent."""
    if "text" in data:
        return problems
    return tuple(_in_block(problem, before.first_line) for problem in problems)


def _in_block(problem: Problem, first_line: int) -> Problem:
    if problem.path != PATH or problem.line is None or problem.line < first_line:
        return replace(problem, line=None) if problem.path == PATH else problem
    return in_file(problem, 2 - first_line)
