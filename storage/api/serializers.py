"""The shapes of volumes and mounts in the API."""

from typing import Any

from rest_framework import serializers

from clusters.api.previews import StartSerializer
from storage.kinds import Kind, Status

KINDS = [kind.value for kind in Kind]


class AttachmentSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField(source="cluster.slug")
    path = serializers.CharField(source="mount.path")
    read_only = serializers.BooleanField(source="mount.read_only")  # type: ignore[assignment]  # a field, no option
    settled = serializers.BooleanField(
        source="is_settled", help_text="False while only a change on its way says so."
    )


class VolumeSerializer(serializers.Serializer[Any]):
    """`size_gib` is what is wanted; `used_bytes` is null where the platform does not say, `cost_per_month` where no
    price is set. `orphan_since` is when no cluster mounted it any more."""

    name = serializers.CharField(source="volume.slug")
    key = serializers.CharField(source="volume.key", help_text="Never changes.")
    region = serializers.CharField(source="volume.region.slug")
    kind = serializers.ChoiceField(choices=KINDS, source="volume.kind")
    offer = serializers.CharField(source="volume.offer.slug", default=None, allow_null=True)
    storage_class = serializers.CharField(source="volume.storage_class")
    size_gib = serializers.IntegerField(source="volume.size_gib")
    used_bytes = serializers.IntegerField(source="volume.used_bytes", allow_null=True)
    status = serializers.ChoiceField(choices=[status.value for status in Status], source="volume.status")
    status_why = serializers.CharField(source="volume.phase_why")
    created_at = serializers.DateTimeField(source="volume.created_at")
    seen_at = serializers.DateTimeField(source="volume.seen_at", allow_null=True)
    orphan_since = serializers.DateTimeField(source="volume.orphan_since", allow_null=True)
    cost_per_month = serializers.DecimalField(source="cost", max_digits=14, decimal_places=4, allow_null=True)
    mounted_by = AttachmentSerializer(source="attachments", many=True)


class NewVolumeSerializer(serializers.Serializer[Any]):
    """What it takes to make a volume. A dataset has no size of its own."""

    name = serializers.CharField(max_length=40)
    region = serializers.CharField(max_length=40)
    offer = serializers.CharField(max_length=40, help_text="One of the region's: GET …/offers lists them.")
    size_gib = serializers.IntegerField(
        min_value=1, max_value=1_048_576, required=False, default=None, allow_null=True
    )


class GrowSerializer(serializers.Serializer[Any]):
    size_gib = serializers.IntegerField(min_value=1, max_value=1_048_576, help_text="More than now.")


class NameSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=40)


class MountSerializer(serializers.Serializer[Any]):
    volume = serializers.CharField(source="name")
    key = serializers.CharField(source="mount.volume")
    path = serializers.CharField(source="mount.path")
    read_only = serializers.BooleanField(source="mount.read_only")  # type: ignore[assignment]  # a field, no option
    settled = serializers.BooleanField(source="is_settled")


class MountActionSerializer(StartSerializer):
    """A volume of the team by name, where it is to be."""

    base = serializers.IntegerField(min_value=1, help_text="The revision you looked at.")
    volume = serializers.CharField(max_length=40)
    path = serializers.CharField(max_length=200)
    read_only = serializers.BooleanField(required=False, default=False)  # type: ignore[assignment]  # a field, no option


class UnmountActionSerializer(StartSerializer):
    base = serializers.IntegerField(min_value=1, help_text="The revision you looked at.")
    volume = serializers.CharField(max_length=40, help_text="Its name, or the key of one that is gone.")


class OfferSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    region = serializers.CharField(source="region.slug")
    kind = serializers.ChoiceField(choices=KINDS)
    most_gib = serializers.IntegerField()
    price_per_gib_month = serializers.DecimalField(max_digits=8, decimal_places=4, allow_null=True)
