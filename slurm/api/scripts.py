"""Life scripts of one cluster: read them, have a text checked, ask for a change."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked
from clusters.api.previews import StartSerializer, hold_to, when_of
from clusters.api.serializers import ChangeSerializer
from clusters.life_scripts import MOST_BYTES
from console.roles import Action
from slurm.scripts.life import Script, propose_script, review, script, scripts
from slurm.scripts.trial import try_script
from slurm.scripts.workers import worker_scripts

EXAMPLE = "#!/bin/bash\nmkdir -p /scratch/$SLURM_JOB_ID\n"
# A bound for what is read at all; which script is too large is said with all other rules.
MOST_CHARACTERS = 2 * MOST_BYTES


class LifeScriptSerializer(serializers.Serializer[Any]):
    """`version` and `file` change with the text, and are empty where there is none."""

    hook = serializers.CharField()
    title = serializers.CharField(source="about.title")
    when = serializers.CharField(source="about.when")
    failure = serializers.CharField(source="about.failure", help_text="What comes of its failure.")
    revision = serializers.IntegerField()
    version = serializers.CharField()
    file = serializers.CharField()
    text = serializers.CharField()


class ScriptTextSerializer(serializers.Serializer[Any]):
    """The whole script; an empty text takes it away. A last line without its end gets one."""

    text = serializers.CharField(max_length=MOST_CHARACTERS, trim_whitespace=False, allow_blank=True)


class ScriptProposedSerializer(StartSerializer, ScriptTextSerializer):
    base = serializers.IntegerField(min_value=1, help_text="The revision that you read.")


class ScriptProblemSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    blocking = serializers.BooleanField()


class ScriptReviewSerializer(serializers.Serializer[Any]):
    """Problems that are not `blocking` are advice. `diff` is a unified one, empty when nothing changes."""

    version = serializers.CharField()
    refused = serializers.BooleanField()
    problems = ScriptProblemSerializer(many=True)
    diff = serializers.CharField()


class Scripts(ClusterView):
    """All hooks, in the order of a cluster's life, with the scripts that there are."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=LifeScriptSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(LifeScriptSerializer(scripts(self.door.cluster), many=True).data)


class HadSerializer(serializers.Serializer[Any]):
    """`version` is empty for none, and null where the platform does not tell."""

    hook = serializers.CharField()
    version = serializers.CharField(allow_null=True)
    is_current = serializers.BooleanField()


class WorkerScriptsSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    machine = serializers.CharField()
    is_up = serializers.BooleanField()
    is_current = serializers.BooleanField()
    scripts = HadSerializer(many=True)


class WorkerScriptVersions(ClusterView):
    """What each worker really has: the init script that it started with, and the prolog and epilog in its copy of the
    configuration."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=WorkerScriptsSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(WorkerScriptsSerializer(worker_scripts(self.door.cluster), many=True).data)


class ScriptDetail(ClusterView):
    """One script, and a change of it."""

    actions = {"GET": Action.VIEW, "PUT": Action.CHANGE_CLUSTER}

    @extend_schema(responses=LifeScriptSerializer)
    def get(self, request: Request, team: str, cluster: str, hook: str) -> Response:
        found: Script = script(self.door.cluster, hook)
        return Response(LifeScriptSerializer(found).data)

    @extend_schema(
        request=ScriptProposedSerializer,
        responses={202: ChangeSerializer},
        examples=[OpenApiExample("A prolog", value={"base": 4, "text": EXAMPLE}, request_only=True)],
    )
    def put(self, request: Request, team: str, cluster: str, hook: str) -> Response:
        data = checked(ScriptProposedSerializer(data=request.data))
        found = review(self.door.cluster, hook, data["text"], base=data["base"])
        hold_to(self.door.cluster, found.edit, data["promise"])
        change = propose_script(self.door, hook, data["text"], data["base"], start_at=when_of(data))
        return Response(ChangeSerializer(change).data, status=202)


class ScriptCheck(ClusterView):
    """What speaks against a text, with ShellCheck's advice where the console has that. Touches nothing."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(
        request=ScriptTextSerializer,
        responses=ScriptReviewSerializer,
        examples=[OpenApiExample("A prolog", value={"text": EXAMPLE}, request_only=True)],
    )
    def post(self, request: Request, team: str, cluster: str, hook: str) -> Response:
        data = checked(ScriptTextSerializer(data=request.data))
        found = review(self.door.cluster, hook, data["text"], base=None)
        answer = {
            "version": found.version,
            "refused": found.is_refused,
            "problems": [asdict(problem) for problem in found.problems],
            "diff": found.diff.text if found.diff else "",
        }
        return Response(ScriptReviewSerializer(answer).data)


class ScriptTrialSerializer(ScriptTextSerializer):
    node = serializers.CharField(
        max_length=64, help_text="Slurm's name of a drained node on which nothing runs."
    )


class TrialSerializer(serializers.Serializer[Any]):
    """`code` is the exit status: 124 or 137 where it was ended at the limit."""

    node = serializers.CharField()
    code = serializers.IntegerField()
    output = serializers.CharField()
    took_s = serializers.FloatField()
    version = serializers.CharField()


class ScriptTrial(ClusterView):
    """Run a worker's script once on a drained node, before the cluster has it. Takes as long as the script, a minute at
    most; 409 unless the node is drained and empty."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(
        request=ScriptTrialSerializer,
        responses=TrialSerializer,
        examples=[OpenApiExample("A prolog", value={"text": EXAMPLE, "node": "slinky-3"}, request_only=True)],
    )
    def post(self, request: Request, team: str, cluster: str, hook: str) -> Response:
        data = checked(ScriptTrialSerializer(data=request.data))
        return Response(TrialSerializer(try_script(self.door, hook, data["text"], data["node"])).data)
