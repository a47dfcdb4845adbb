"""The partitions of one cluster: the platform's, the team's own, and changes of the latter."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.acts import Edit
from clusters.api.base import ClusterView, checked, whole_number
from clusters.api.previews import StartSerializer, hold_to, when_of
from clusters.api.serializers import ChangeSerializer
from clusters.spec import PartitionSpec
from clusters.validate import STATES
from console.errors import Problem, Rejected
from console.roles import Action
from slurm import partitions as acts
from slurm.partition_form import typed_minutes
from slurm.times import DurationError


@extend_schema_field({"oneOf": [{"type": "integer"}, {"type": "string"}], "nullable": True})
class MinutesField(serializers.Field[int | None, Any, Any, Any]):
    """Minutes as a number, or a time as Slurm writes it; null for none."""

    def to_internal_value(self, data: object) -> int | None:
        if isinstance(data, bool) or not isinstance(data, int | str):
            raise serializers.ValidationError("Send minutes, or a time such as 1-00:00:00.")
        try:
            return typed_minutes(str(data))
        except DurationError as error:
            raise serializers.ValidationError(str(error)) from error

    def to_representation(self, value: int | None) -> int | None:
        return value


class PartitionFieldsSerializer(StartSerializer):
    """`nodes` is a host list or ALL. Times are minutes or as Slurm writes them (`1-00:00:00`); null is no limit."""

    nodes = serializers.CharField(max_length=10_000)
    default = serializers.BooleanField(default=False)
    max_time_minutes = MinutesField(required=False, allow_null=True, default=None)
    default_time_minutes = MinutesField(required=False, allow_null=True, default=None)
    state = serializers.ChoiceField(choices=list(STATES), default="UP")
    priority_tier = serializers.IntegerField(default=1, min_value=0, max_value=65_533)
    oversubscribe = serializers.CharField(default="NO", max_length=20)
    qos = serializers.CharField(default="", max_length=64, allow_blank=True)
    allow_groups = serializers.ListField(
        child=serializers.CharField(max_length=64), default=list, max_length=100
    )
    allow_accounts = serializers.ListField(
        child=serializers.CharField(max_length=64), default=list, max_length=100
    )
    allow_qos = serializers.ListField(
        child=serializers.CharField(max_length=64), default=list, max_length=100
    )
    base = serializers.IntegerField(min_value=1, help_text="The revision that you read.")


class NewPartitionSerializer(PartitionFieldsSerializer):
    name = serializers.CharField(max_length=63)


class ClusterPartitionSerializer(serializers.Serializer[Any]):
    """A partition as it should be. `lock` says why it cannot be changed, empty for an own one; `seen` is the state that
    the controller reports, null until it does."""

    name = serializers.CharField(source="spec.name")
    own = serializers.BooleanField(source="is_own")
    lock = serializers.CharField()
    nodes = serializers.CharField(source="spec.nodes")
    node_names = serializers.ListField(child=serializers.CharField(), source="coverage.names")
    gpus = serializers.IntegerField(source="coverage.gpus")
    cpus = serializers.IntegerField(source="coverage.cpus")
    default = serializers.BooleanField(source="spec.default")
    max_time_minutes = serializers.IntegerField(source="spec.max_time_minutes", allow_null=True)
    default_time_minutes = serializers.IntegerField(source="spec.default_time_minutes", allow_null=True)
    state = serializers.CharField(source="spec.state")
    seen = serializers.CharField(source="seen.state", default=None, allow_null=True)
    priority_tier = serializers.IntegerField(source="spec.priority_tier")
    oversubscribe = serializers.CharField(source="spec.oversubscribe")
    qos = serializers.CharField(source="spec.qos")
    allow_groups = serializers.ListField(child=serializers.CharField(), source="spec.allow_groups")
    allow_accounts = serializers.ListField(child=serializers.CharField(), source="spec.allow_accounts")
    allow_qos = serializers.ListField(child=serializers.CharField(), source="spec.allow_qos")
    running = serializers.IntegerField()
    waiting = serializers.IntegerField()
    line = serializers.SerializerMethodField(help_text="As it stands in slurm.conf.")

    def get_line(self, row: acts.Listed) -> str:
        return acts.line_of(row.spec)


class Partitions(ClusterView):
    """All partitions, the platform's first; a new one of the team's own."""

    actions = {"GET": Action.VIEW, "POST": Action.CHANGE_CLUSTER}

    @extend_schema(responses=ClusterPartitionSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        rows = acts.listed(self.door.cluster)
        return Response({"results": ClusterPartitionSerializer(rows, many=True).data, "next": None})

    @extend_schema(
        request=NewPartitionSerializer,
        responses={202: ChangeSerializer},
        examples=[
            OpenApiExample(
                "Short jobs first",
                value={
                    "base": 4,
                    "name": "debug",
                    "nodes": "slinky-[0-1]",
                    "max_time_minutes": "2:00:00",
                    "priority_tier": 50,
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(NewPartitionSerializer(data=request.data))
        wanted, spec = _spec(data["name"], data), self.door.cluster.spec
        hold_to(self.door.cluster, Edit(spec, acts.put(spec, wanted)), data["promise"])
        change = acts.add(self.door, wanted, base=data["base"], start_at=when_of(data))
        return Response(ChangeSerializer(change).data, status=202)


class PartitionDetail(ClusterView):
    """One partition. PUT replaces all of its fields; those left out get their defaults."""

    actions = {"GET": Action.VIEW, "PUT": Action.CHANGE_CLUSTER, "DELETE": Action.CHANGE_CLUSTER}

    @extend_schema(responses=ClusterPartitionSerializer)
    def get(self, request: Request, team: str, cluster: str, name: str) -> Response:
        return Response(ClusterPartitionSerializer(acts.named(self.door.cluster, name)).data)

    @extend_schema(
        request=PartitionFieldsSerializer,
        responses={202: ChangeSerializer},
        examples=[
            OpenApiExample(
                "A longer limit",
                value={"base": 4, "nodes": "slinky-[0-1]", "max_time_minutes": "1-00:00:00"},
                request_only=True,
            )
        ],
    )
    def put(self, request: Request, team: str, cluster: str, name: str) -> Response:
        data = checked(PartitionFieldsSerializer(data=request.data))
        wanted, spec = _spec(name, data), self.door.cluster.spec
        hold_to(self.door.cluster, Edit(spec, acts.put(spec, wanted, instead_of=name)), data["promise"])
        change = acts.edit(self.door, name, wanted, base=data["base"], start_at=when_of(data))
        return Response(ChangeSerializer(change).data, status=202)

    @extend_schema(
        parameters=[
            OpenApiParameter("base", int, required=True, description="The revision that you read."),
            StartSerializer,
        ],
        responses={202: ChangeSerializer},
    )
    def delete(self, request: Request, team: str, cluster: str, name: str) -> Response:
        if "base" not in request.query_params:
            raise Rejected(
                "Partition was not deleted.", (Problem("base", "Say which revision you read: ?base=."),)
            )
        base = whole_number(request, "base", default=0, most=10_000_000)
        data, spec = checked(StartSerializer(data=request.query_params)), self.door.cluster.spec
        hold_to(self.door.cluster, Edit(spec, acts.without(spec, name)), data["promise"])
        change = acts.delete(self.door, name, base=base, start_at=when_of(data))
        return Response(ChangeSerializer(change).data, status=202)


def _spec(name: str, data: Mapping[str, Any]) -> PartitionSpec:
    known = {field.name for field in fields(PartitionSpec)} - {"name"}
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key in known
    }
    return PartitionSpec(name=name, **values)
