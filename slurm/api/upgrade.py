"""The images that a cluster could go to, and going there."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import changes
from clusters.acts import Edit
from clusters.api.base import ClusterView, checked
from clusters.api.previews import StartSerializer, hold_to, when_of
from clusters.api.serializers import ChangeSerializer
from clusters.inventory import image_choices, with_image
from console.errors import Problem, Rejected
from console.roles import Action


class ImageChoiceSerializer(serializers.Serializer[Any]):
    """`why_not` is empty where the cluster could go there now."""

    image = serializers.CharField(source="image.slug")
    name = serializers.CharField(source="image.name")
    slurm_version = serializers.CharField(source="image.slurm_version")
    why_not = serializers.CharField()
    hint = serializers.CharField()


class Images(ClusterView):
    """The images of the cluster's region, and whether the cluster could go to each."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=ImageChoiceSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        found = image_choices(self.door.cluster.region, self.door.cluster.spec)
        return Response(ImageChoiceSerializer(found, many=True).data)


class UpgradeSerializer(StartSerializer):
    image = serializers.CharField(max_length=40)
    base = serializers.IntegerField(min_value=1, help_text="The revision you looked at.")


class UpdateImage(ClusterView):
    """Take the cluster to another release of Slurm: accounting, the controller, the workers, the login node.

    422 with the rule where Slurm does not go there: back, or too many releases at once.
    """

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(
        request=UpgradeSerializer,
        responses={202: ChangeSerializer},
        examples=[
            OpenApiExample("To Slurm 26.05", value={"image": "slurm-26-05", "base": 3}, request_only=True)
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data, found = checked(UpgradeSerializer(data=request.data)), self.door.cluster
        choices = {choice.image.slug: choice for choice in image_choices(found.region, found.spec)}
        if data["image"] not in choices:
            wrong = Problem("image", f"There is no image {data['image']} here.", "Choose one of the list.")
            raise Rejected(f"{cluster} was not updated.", (wrong,))
        wanted = with_image(found.spec, choices[data["image"]].image)
        hold_to(found, Edit(found.spec, wanted), data["promise"])
        change = changes.propose(
            found, wanted, base=data["base"], by=self.door.membership, start_at=when_of(data)
        )
        return Response(ChangeSerializer(change).data, status=202)
