"""Who may do what on a cluster, for scripts. The acts are `clusters.grants`'; nothing is decided here."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import grants
from clusters.api.base import ClusterView, checked
from clusters.api.people import RoleSerializer
from console.roles import Action, Role


class ReachSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="member.user.username")
    role = serializers.CharField(help_text="What they are on this cluster.")
    in_team = serializers.CharField(source="member.role")
    granted = serializers.CharField(
        allow_null=True, help_text="What they were given here, on top of the team's."
    )


class People(ClusterView):
    """Everybody who reaches the cluster, and what they are on it."""

    actions = {"GET": Action.VIEW_MEMBERS}

    @extend_schema(responses=ReachSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        rows = ReachSerializer(grants.people_of(self.door), many=True).data
        return Response({"results": rows, "next": None})


class Person(ClusterView):
    """One member's role on this cluster, on top of the team's."""

    actions = {"PUT": Action.GRANT_ROLE, "DELETE": Action.GRANT_ROLE}

    @extend_schema(request=RoleSerializer, responses={204: None})
    def put(self, request: Request, team: str, cluster: str, member: str) -> Response:
        grants.give(self.door, member, Role(checked(RoleSerializer(data=request.data))["role"]))
        return Response(status=204)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, team: str, cluster: str, member: str) -> Response:
        grants.withdraw(self.door, member)
        return Response(status=204)
