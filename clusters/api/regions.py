"""Regions and their readiness, for platform staff. No secret is shown: only which kinds are sealed."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import StaffView, found_in, page_of
from clusters.finding import State
from clusters.models import Region
from clusters.readiness import is_being_checked
from clusters.regions import ask_for_check, kept_secrets
from console.errors import Missing


class RegionSerializer(serializers.ModelSerializer[Region]):
    """`secrets` names what is sealed for the region, never what it is."""

    secrets = serializers.SerializerMethodField()

    class Meta:
        model = Region
        fields = ["slug", "name", "provisioner", "enabled", "config", "partitions", "readiness_at", "secrets"]

    def get_secrets(self, region: Region) -> list[str]:
        return sorted(kept_secrets(region))


class FindingSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=[state.value for state in State])
    sentence = serializers.CharField()
    hint = serializers.CharField()
    details = serializers.ListField(child=serializers.CharField())
    commands = serializers.ListField(child=serializers.CharField())


class ReadinessSerializer(serializers.Serializer[Any]):
    """What was found at `at`. `checking` says that somebody looks again right now."""

    at = serializers.DateTimeField(source="readiness_at", allow_null=True)
    checking = serializers.SerializerMethodField()
    findings = FindingSerializer(many=True)

    def get_checking(self, region: Region) -> bool:
        return is_being_checked(region)


class Regions(StaffView):
    """Where clusters can live."""

    @extend_schema(responses=RegionSerializer(many=True))
    def get(self, request: Request) -> Response:
        return page_of(request, Region.objects.order_by("slug"), RegionSerializer)


class RegionDetail(StaffView):
    """One region and its settings."""

    @extend_schema(responses=RegionSerializer)
    def get(self, request: Request, region: str) -> Response:
        return Response(RegionSerializer(_region(region)).data)


class Readiness(StaffView):
    """What clusters need there, and how it is. POST has it looked at again: poll GET until `checking` is false."""

    @extend_schema(responses=ReadinessSerializer)
    def get(self, request: Request, region: str) -> Response:
        return Response(ReadinessSerializer(_region(region)).data)

    @extend_schema(request=None, responses={202: ReadinessSerializer})
    def post(self, request: Request, region: str) -> Response:
        found = _region(region)
        ask_for_check(found)
        return Response(ReadinessSerializer(found).data, status=202)


def _region(slug: str) -> Region:
    """Raises Missing."""
    missing = Missing(f"There is no region {slug[:40]}.", "The list of regions shows them all.")
    return found_in(Region.objects.all(), missing, slug=slug)
