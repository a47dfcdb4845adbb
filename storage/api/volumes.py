"""Volumes of a team, what regions offer, and mounts of a cluster."""

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.acts import Edit
from clusters.api.base import ClusterView, TeamView, checked
from clusters.api.previews import hold_to, when_of
from clusters.api.serializers import ChangeSerializer
from console.roles import Action
from storage import mounts as mount_acts
from storage import volumes as acts
from storage.api.serializers import (
    GrowSerializer,
    MountActionSerializer,
    MountSerializer,
    NameSerializer,
    NewVolumeSerializer,
    OfferSerializer,
    UnmountActionSerializer,
    VolumeSerializer,
)
from storage.listing import Row, mounts_of, rows_of
from storage.models import Offer, Volume


class Volumes(TeamView):
    """The team's volumes by name, those that no cluster mounts included."""

    actions = {"GET": Action.VIEW, "POST": Action.CHANGE_VOLUMES}

    @extend_schema(responses=VolumeSerializer(many=True))
    def get(self, request: Request, team: str) -> Response:
        rows = rows_of(self.membership.team)
        return Response({"results": VolumeSerializer(rows, many=True).data, "next": None})

    @extend_schema(
        request=NewVolumeSerializer,
        responses={201: VolumeSerializer},
        examples=[
            OpenApiExample(
                "500 GiB",
                value={"name": "scratch", "region": "local", "offer": "fast", "size_gib": 500},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, team: str) -> Response:
        data = checked(NewVolumeSerializer(data=request.data))
        made = acts.create(self.membership.team, acts.Wish(**data), by=self.membership)
        return Response(VolumeSerializer(_row(self, made)).data, status=201)


class Offers(TeamView):
    """What the regions offer volumes of."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=OfferSerializer(many=True))
    def get(self, request: Request, team: str) -> Response:
        offers = (
            Offer.objects.filter(region__enabled=True)
            .select_related("region")
            .order_by("region__slug", "slug")
        )
        return Response({"results": OfferSerializer(offers, many=True).data, "next": None})


class VolumeDetail(TeamView):
    """One volume."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=VolumeSerializer)
    def get(self, request: Request, team: str, volume: str) -> Response:
        return Response(VolumeSerializer(_row(self, acts.volume_for(self.membership, volume))).data)


class Grow(TeamView):
    """Make the volume larger. It never shrinks."""

    actions = {"POST": Action.CHANGE_VOLUMES}

    @extend_schema(request=GrowSerializer, responses={202: VolumeSerializer})
    def post(self, request: Request, team: str, volume: str) -> Response:
        found = acts.volume_for(self.membership, volume)
        acts.grow(found, checked(GrowSerializer(data=request.data))["size_gib"], by=self.membership)
        return Response(VolumeSerializer(_row(self, found)).data, status=202)


class Rename(TeamView):
    """Call the volume otherwise. Files and mounts stay."""

    actions = {"POST": Action.CHANGE_VOLUMES}

    @extend_schema(request=NameSerializer, responses=VolumeSerializer)
    def post(self, request: Request, team: str, volume: str) -> Response:
        found = acts.volume_for(self.membership, volume)
        acts.rename(found, checked(NameSerializer(data=request.data))["name"], by=self.membership)
        return Response(VolumeSerializer(_row(self, found)).data)


class Delete(TeamView):
    """Delete the volume with everything in it, if no cluster mounts it. Its name is asked once more."""

    actions = {"POST": Action.DELETE_VOLUMES}

    @extend_schema(request=NameSerializer, responses={202: VolumeSerializer})
    def post(self, request: Request, team: str, volume: str) -> Response:
        found = acts.volume_for(self.membership, volume)
        if checked(NameSerializer(data=request.data))["name"] != volume:
            raise serializers.ValidationError({"name": [f"Write {volume} to delete it."]})
        acts.delete(found, by=self.membership)
        return Response(VolumeSerializer(_row(self, found)).data, status=202)


class Mounts(ClusterView):
    """What the cluster mounts, by path."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=MountSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        found = self.door.cluster
        rows = mounts_of(found, rows_of(found.team))
        return Response({"results": MountSerializer(rows, many=True).data, "next": None})


class MountAction(ClusterView):
    """Mount a volume on the login node and every worker. One that is mounted moves to the new path."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=MountActionSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(MountActionSerializer(data=request.data))
        volume = acts.volume_for(self.door.membership, data["volume"])
        wanted = mount_acts.mount_of(volume, data["path"], read_only=data["read_only"])
        before = self.door.cluster.spec
        hold_to(self.door.cluster, Edit(before, mount_acts.with_mount(before, wanted)), data["promise"])
        change = mount_acts.mount(self.door, wanted, base=data["base"], start_at=when_of(data))
        return Response(ChangeSerializer(change).data, status=202)


class UnmountAction(ClusterView):
    """Unmount a volume everywhere. Its files stay."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=UnmountActionSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(UnmountActionSerializer(data=request.data))
        found = self.door.cluster.team.volumes.filter(slug=data["volume"]).first()
        key = found.key if found else data["volume"]
        before = self.door.cluster.spec
        hold_to(self.door.cluster, Edit(before, mount_acts.without(before, key)), data["promise"])
        change = mount_acts.unmount(self.door, key, base=data["base"], start_at=when_of(data))
        return Response(ChangeSerializer(change).data, status=202)


def _row(view: TeamView, volume: Volume) -> Row:
    """As it is now."""
    return next(row for row in rows_of(view.membership.team) if row.volume.pk == volume.pk)
