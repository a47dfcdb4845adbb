"""Teams and their clusters: list, create, look, and the actions on a whole cluster."""

from typing import Any

from django.db.models import F
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import changes
from clusters.api.base import ActionView, ClusterView, TeamView, checked, page_of
from clusters.api.serializers import (
    ChangeSerializer,
    ClusterSerializer,
    OrderSerializer,
    TeamSerializer,
)
from clusters.lifecycle import Status
from clusters.models import Change, Cluster
from clusters.order import Order, spec_for
from clusters.scaling import misfits, rescale
from console.access import SIGNED_IN
from console.errors import Problem, Rejected
from console.models import Team
from console.roles import Action

ORDER_EXAMPLE = OpenApiExample(
    "Four GPU workers and two CPU workers",
    value={
        "name": "llama", "region": "local", "image": "slurm-24-11",
        "gpu_plan": "h100-8", "gpu_nodes": 4, "cpu_plan": "cpu-64", "cpu_nodes": 2, "ssh_keys": [],
    },
    request_only=True,
)  # fmt: skip


class Teams(ActionView):
    """The teams you are in, with your role."""

    action = SIGNED_IN

    @extend_schema(responses=TeamSerializer(many=True))
    def get(self, request: Request) -> Response:
        teams = Team.objects.filter(memberships__user_id=request.user.pk or 0).annotate(
            role=F("memberships__role")
        )
        return page_of(request, teams.order_by("slug"), TeamSerializer)


class Clusters(TeamView):
    """A team's clusters, terminated ones included until they are deleted."""

    actions = {"GET": Action.VIEW, "POST": Action.CREATE_CLUSTER}

    @extend_schema(responses=ClusterSerializer(many=True))
    def get(self, request: Request, team: str) -> Response:
        rows = Cluster.objects.filter(team=self.membership.team).exclude(status=Status.DELETED)
        return page_of(
            request, rows.select_related("team", "region", "revision").order_by("slug"), ClusterSerializer
        )

    @extend_schema(request=OrderSerializer, responses={201: ClusterSerializer}, examples=[ORDER_EXAMPLE])
    def post(self, request: Request, team: str) -> Response:
        data = checked(OrderSerializer(data=request.data))
        region, spec = spec_for(Order(**{**data, "ssh_keys": tuple(data["ssh_keys"])}))
        made = changes.create_cluster(self.membership.team, region, spec, by=self.membership)
        return Response(ClusterSerializer(made).data, status=201)


class ClusterDetail(ClusterView):
    """One cluster: its status, its parts and its desired state."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=ClusterSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(ClusterSerializer(self.door.cluster).data)


class ConfirmSerializer(serializers.Serializer[Any]):
    """The cluster's name once more: what keeps a script from deleting the wrong one."""

    name = serializers.CharField()


class ClusterAction(ClusterView):
    """Base of the three actions on a whole cluster; each answers with the Change that carries it out."""

    @staticmethod
    def answer(change: Change) -> Response:
        return Response(ChangeSerializer(change).data, status=202)


class Reconfigure(ClusterAction):
    """Render the desired state again and apply it."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=None, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        return self.answer(changes.reconfigure(self.door.cluster, by=self.door.membership))


class Terminate(ClusterAction):
    """Stop the cluster; its record, accounting and volumes stay."""

    actions = {"POST": Action.TERMINATE_CLUSTER}

    @extend_schema(request=None, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        return self.answer(changes.terminate(self.door.cluster, by=self.door.membership))


class Delete(ClusterAction):
    """Remove what is left of the cluster."""

    actions = {"POST": Action.DELETE_CLUSTER}

    @extend_schema(request=ConfirmSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        if checked(ConfirmSerializer(data=request.data))["name"] != cluster:
            raise serializers.ValidationError({"name": [f"Write {cluster} to delete it."]})
        return self.answer(changes.delete(self.door.cluster, by=self.door.membership))


class ScaleSerializer(serializers.Serializer[Any]):
    """How many workers each group should have; a group left out stays. New ones take the lowest free numbers; when
    there are to be fewer, those in `leaving` go, and then the ones with the highest numbers."""

    groups = serializers.DictField(child=serializers.IntegerField(min_value=0, max_value=5000))
    leaving = serializers.ListField(
        child=serializers.CharField(max_length=64),
        max_length=5000,
        required=False,
        default=list,
        help_text="Slurm names of nodes that are to go, such as slinky-1.",
    )
    force = serializers.BooleanField(
        default=False,
        help_text="End the jobs on nodes that go; left out, the change waits until they have ended.",
    )
    base = serializers.IntegerField(min_value=1, help_text="The revision you looked at.")


class Scale(ClusterAction):
    """Change the number of workers of one or more groups."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=ScaleSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(ScaleSerializer(data=request.data))
        spec = self.door.cluster.spec
        if unknown := [name for name in data["groups"] if spec.group(name) is None]:
            known = ", ".join(group.name for group in spec.groups)
            problems = (
                Problem(f"groups.{name}", f"There is no group {name}, only {known}.") for name in unknown
            )
            raise Rejected(f"{cluster} was not scaled.", tuple(problems))
        if misfit := tuple(misfits(spec, data["groups"], data["leaving"])):
            raise Rejected(f"{cluster} was not scaled.", misfit)
        spec = rescale(spec, data["groups"], data["leaving"])
        return self.answer(
            changes.propose(
                self.door.cluster, spec, base=data["base"], by=self.door.membership, force=data["force"]
            )
        )
