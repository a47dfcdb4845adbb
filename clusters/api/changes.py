"""Changes and revisions: what was asked, how it went sentence by sentence, and the way back."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import answers, changes
from clusters.access import Door
from clusters.acts import Edit
from clusters.api.base import ClusterView, checked, found_in, page_of
from clusters.api.previews import PromiseSerializer, StartSerializer, hold_to, when_of
from clusters.api.serializers import (
    ChangeDetailSerializer,
    ChangeSerializer,
    FileDiffSerializer,
    RevisionSerializer,
)
from clusters.models import Change
from clusters.opening import right_to_answer
from clusters.renderings import changed_files
from console.errors import Missing
from console.roles import Action


def change_for(door: Door, number: int) -> Change:
    """Raises Missing."""
    rows = door.cluster.changes.select_related("by", "base", "revision", "cluster")
    missing = Missing(f"{door.cluster.slug} has no change {number}.", "The list of changes shows them all.")
    return found_in(rows, missing, number=number)


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
        return Response(ChangeDetailSerializer(change_for(self.door, number)).data)


class Cancel(ClusterView):
    """Give up a live edit: what it has done is undone; or a restart: it goes no further. 409 when it is over or cannot
    be cancelled. A restart may be given up by whoever may order one."""

    actions = {"POST": Action.RESTART_CLUSTER}

    @extend_schema(request=None, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str, number: int) -> Response:
        found = change_for(self.door, number)
        self.door.require(right_to_answer(found))
        change = answers.cancel(found, by=self.door.membership)
        return Response(ChangeSerializer(change).data, status=202)


class Force(ClusterView):
    """Wait no longer for the jobs that a change waits for: they end. 409 when it waits for none. A preview of what is
    left tells which: of an edit with `force`, of a reboot of the nodes without `when_idle`."""

    actions = {"POST": Action.RESTART_CLUSTER}

    @extend_schema(request=PromiseSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str, number: int) -> Response:
        data = checked(PromiseSerializer(data=request.data))
        found = change_for(self.door, number)
        self.door.require(right_to_answer(found))
        if act := answers.forced(found):
            hold_to(self.door.cluster, act, data["promise"])
        change = answers.force(found, by=self.door.membership)
        return Response(ChangeSerializer(change).data, status=202)


class Confirm(ClusterView):
    """Say yes to what an asking change costs by now, as `changes:preview` shows it. 409 when it does not ask."""

    actions = {"POST": Action.RESTART_CLUSTER}

    @extend_schema(request=None, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str, number: int) -> Response:
        found = change_for(self.door, number)
        self.door.require(right_to_answer(found))
        change = answers.confirm(found, by=self.door.membership)
        return Response(ChangeSerializer(change).data, status=202)


class ChangeObjects(ClusterView):
    """What the platform gets otherwise with this change than before it: a unified diff of each file or object."""

    actions = {"GET": Action.CHANGE_CLUSTER}

    @extend_schema(responses=FileDiffSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str, number: int) -> Response:
        files = changed_files(change_for(self.door, number))
        return Response(FileDiffSerializer(files, many=True).data)


class Revisions(ClusterView):
    """Every desired state that the cluster had, newest first."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=RevisionSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return page_of(request, self.door.cluster.revisions.select_related("by"), RevisionSerializer)


class BaseSerializer(StartSerializer):
    """The revision you looked at: a newer one in the meantime is a 409, never overwritten."""

    base = serializers.IntegerField(min_value=1)


class Rollback(ClusterView):
    """Go back to a revision: a new change whose desired state is that old one."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=BaseSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str, number: int) -> Response:
        data, found = checked(BaseSerializer(data=request.data)), self.door.cluster
        base, when = data["base"], when_of(data)
        if earlier := found.revisions.filter(number=number).first():
            hold_to(found, Edit(found.spec, changes.restored(found, earlier)), data["promise"])
        change = changes.rollback_to(found, number, base=base, by=self.door.membership, start_at=when)
        return Response(ChangeSerializer(change).data, status=202)
