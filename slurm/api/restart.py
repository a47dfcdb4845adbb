"""Restarting the cluster's services."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked
from console.roles import Action
from slurm import restarts


class RestartSerializer(serializers.Serializer[Any]):
    part = serializers.ChoiceField(choices=list(restarts.PARTS))


class Restart(ClusterView):
    """Restart a service now.

    `controller`: queue and running jobs stay. `login`: terminals and ssh sessions end. `workers`: running jobs end, and
    what they kept on the nodes is lost. 409 while a change is on its way.
    """

    actions = {"POST": Action.RESTART_CLUSTER}

    @extend_schema(
        request=RestartSerializer,
        responses={204: None},
        examples=[OpenApiExample("The controller", value={"part": "controller"})],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        restarts.restart(self.door, checked(RestartSerializer(data=request.data))["part"])
        return Response(status=204)
