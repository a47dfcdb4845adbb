"""Changes and revisions: what was asked, how it went sentence by sentence, and the way back."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import changes
from clusters.api.base import ClusterView, checked, page_of
from clusters.api.serializers import (
    ChangeDetailSerializer,
    ChangeSerializer,
    FileDiffSerializer,
    RevisionSerializer,
)
from clusters.renderings import changed_files
from console.roles import Action


class Changes(ClusterView):
    """The cluster's changes, newest first."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=ChangeSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        rows = self.door.cluster.changes.select_related("by", "base", "revision")
        return page_of(request, rows, ChangeSerializer)


class ChangeDetail(ClusterView):
    """One change with its log. Poll it after a 202 until `status` is not a live one."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=ChangeDetailSerializer)
    def get(self, request: Request, team: str, cluster: str, number: int) -> Response:
        rows = self.door.cluster.changes.select_related("by", "base", "revision")
        return Response(ChangeDetailSerializer(get_object_or_404(rows, number=number)).data)


class Cancel(ClusterView):
    """Give up a live edit: what it has done is undone. 409 when it is over or cannot be cancelled."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=None, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str, number: int) -> Response:
        found = get_object_or_404(
            self.door.cluster.changes.select_related("by", "base", "revision"), number=number
        )
        change = changes.cancel(found, by=self.door.membership)
        return Response(ChangeSerializer(change).data, status=202)


class ChangeObjects(ClusterView):
    """What the platform gets otherwise with this change than before it: a unified diff of each file or object."""

    actions = {"GET": Action.CHANGE_CLUSTER}

    @extend_schema(responses=FileDiffSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str, number: int) -> Response:
        rows = self.door.cluster.changes.select_related("base", "revision")
        files = changed_files(get_object_or_404(rows, number=number))
        return Response(FileDiffSerializer(files, many=True).data)


class Revisions(ClusterView):
    """Every desired state that the cluster had, newest first."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=RevisionSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return page_of(request, self.door.cluster.revisions.select_related("by"), RevisionSerializer)


class BaseSerializer(serializers.Serializer[Any]):
    """The revision you looked at: a newer one in the meantime is a 409, never overwritten."""

    base = serializers.IntegerField(min_value=1)


class Rollback(ClusterView):
    """Go back to a revision: a new change whose desired state is that old one."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=BaseSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str, number: int) -> Response:
        base = checked(BaseSerializer(data=request.data))["base"]
        change = changes.rollback_to(self.door.cluster, number, base=base, by=self.door.membership)
        return Response(ChangeSerializer(change).data, status=202)
