"""Restarting the cluster's services, and the nodes."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked
from clusters.api.previews import PromiseSerializer, hold_to
from clusters.api.serializers import ChangeSerializer
from console.roles import Action
from slurm import restarts
from slurm.api.nodes import NodesSerializer
from slurm.restarts import Order

IDLE_HELP = "Of workers: drain them and restart each when its jobs have ended."
PACE_HELP = (
    "Of workers: so many at a time, in their order; the next ones follow when those before them are back. "
    "It is then a change, which can be stopped. Left out, all at once."
)
TIME_HELP = "When it is to begin; it is then a change, which can be cancelled. Left out, now."


class CourseSerializer(PromiseSerializer):
    """What every restart takes that may take its course."""

    when_idle = serializers.BooleanField(default=False, help_text=IDLE_HELP)
    at_once = serializers.IntegerField(
        required=False, default=0, min_value=1, max_value=100_000, help_text=PACE_HELP
    )
    start_at = serializers.DateTimeField(required=False, default=None, allow_null=True, help_text=TIME_HELP)


class RestartSerializer(CourseSerializer):
    part = serializers.ChoiceField(choices=list(restarts.PARTS))

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["part"] != "workers" and (attrs["when_idle"] or attrs["at_once"]):
            field = "when_idle" if attrs["when_idle"] else "at_once"
            raise serializers.ValidationError({field: "Only workers restart so: no job ends with a service."})
        return attrs


class RebootSerializer(NodesSerializer, CourseSerializer):
    """Which nodes, and how."""


class _Restarts(ClusterView):
    def carry_out(self, order: Order, promise: str) -> Response:
        found = self.door.cluster
        hold_to(found, order.act(found.spec), promise)
        change = restarts.carry_out(self.door, order)
        if change is None:
            return Response(status=204)
        return Response(ChangeSerializer(change).data, status=202)


class Restart(_Restarts):
    """Restart a service, or all workers: now, some at a time, or at a time to come.

    `controller`: queue and running jobs stay. `login`: terminals and ssh sessions end. `workers`: running jobs end, and
    what they kept on the nodes is lost. 204 when it was ordered, 202 with the change when it takes its course. 409
    while a change is on its way.
    """

    actions = {"POST": Action.RESTART_CLUSTER}

    @extend_schema(
        request=RestartSerializer,
        responses={202: ChangeSerializer, 204: None},
        examples=[
            OpenApiExample("The controller", value={"part": "controller"}, request_only=True),
            OpenApiExample(
                "Workers, two at a time",
                value={"part": "workers", "when_idle": True, "at_once": 2},
                request_only=True,
            ),
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(RestartSerializer(data=request.data))
        part = restarts.named(self.door.cluster, data["part"])
        return self.carry_out(
            Order(part, (), data["when_idle"], data["at_once"], data["start_at"]), data["promise"]
        )


class Reboot(_Restarts):
    """Restart the nodes: now (jobs on them end), when their jobs have ended, some at a time, or at a time to come. What
    they kept locally is lost. 204 when it was ordered, 202 with the change when it takes its course."""

    actions = {"POST": Action.OPERATE_NODE}

    @extend_schema(request=RebootSerializer, responses={202: ChangeSerializer, 204: None})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(RebootSerializer(data=request.data))
        nodes = tuple(dict.fromkeys(data["nodes"]))
        return self.carry_out(
            Order(None, nodes, data["when_idle"], data["at_once"], data["start_at"]), data["promise"]
        )
