"""Nodes as last seen, and the operations on them. An operation is one direct call: no revision, no change."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked, found_in, page_of
from clusters.api.serializers import NodeSerializer
from console.errors import Missing
from console.roles import Action
from slurm import operations


class NodesSerializer(serializers.Serializer[Any]):
    """Slurm names; a bracket range such as `slinky-[0-2]` counts as one entry."""

    nodes = serializers.ListField(child=serializers.CharField(max_length=1000), min_length=1, max_length=1000)


class DrainSerializer(NodesSerializer):
    reason = serializers.CharField(max_length=200)


class Nodes(ClusterView):
    """The cluster's nodes as the watcher last saw them."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=NodeSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return page_of(request, self.door.cluster.nodes.all(), NodeSerializer)


class NodeDetail(ClusterView):
    """One node by its Slurm name."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=NodeSerializer)
    def get(self, request: Request, team: str, cluster: str, name: str) -> Response:
        missing = Missing(f"{cluster} has no node {name[:60]}.", "The list of nodes shows them all.")
        return Response(NodeSerializer(found_in(self.door.cluster.nodes.all(), missing, name=name)).data)


class Drain(ClusterView):
    """No new job starts on the nodes; running ones go on."""

    actions = {"POST": Action.OPERATE_NODE}

    @extend_schema(
        request=DrainSerializer,
        responses={204: None},
        examples=[OpenApiExample("One node", value={"nodes": ["slinky-3"], "reason": "XID 79 on GPU 2"})],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(DrainSerializer(data=request.data))
        operations.drain(self.door, data["nodes"], data["reason"])
        return Response(status=204)


class Resume(ClusterView):
    """Give drained or down nodes back to the scheduler."""

    actions = {"POST": Action.OPERATE_NODE}

    @extend_schema(request=NodesSerializer, responses={204: None})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        operations.resume(self.door, checked(NodesSerializer(data=request.data))["nodes"])
        return Response(status=204)
