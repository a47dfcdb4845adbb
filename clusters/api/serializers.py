"""The shapes that the API shows. Desired state is always the `ClusterSpec` document, in its own field paths."""

from typing import Any

from rest_framework import serializers

from clusters.lifecycle import Status, Step, allows
from clusters.models import Change, ChangeLine, Cluster, Node, Partition, Revision
from clusters.spec import to_json
from console.models import Team


class TeamSerializer(serializers.ModelSerializer[Team]):
    role = serializers.CharField(help_text="Your role in the team.")

    class Meta:
        model = Team
        fields = ["slug", "name", "role"]


class ClusterSerializer(serializers.ModelSerializer[Cluster]):
    """`status` is the word on the page; `allowed` lists what that status allows."""

    name = serializers.CharField(source="slug")
    team = serializers.CharField(source="team.slug")
    region = serializers.CharField(source="region.slug")
    revision = serializers.IntegerField(source="revision.number", default=None, allow_null=True)
    allowed = serializers.SerializerMethodField()
    spec = serializers.SerializerMethodField()

    class Meta:
        model = Cluster
        fields = [
            "name", "team", "region", "status", "status_at", "status_why", "created_at", "revision", "observed_at",
            "observed_problem", "observed_drift", "parts", "allowed", "spec",
        ]  # fmt: skip

    def get_allowed(self, cluster: Cluster) -> list[str]:
        return [step.value for step in Step if allows(Status(cluster.status), step)]

    def get_spec(self, cluster: Cluster) -> dict[str, Any]:
        return to_json(cluster.spec)


class OrderSerializer(serializers.Serializer[Any]):
    """What it takes to create a cluster."""

    name = serializers.CharField(max_length=40)
    region = serializers.CharField(max_length=40)
    image = serializers.CharField(max_length=40)
    gpu_plan = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    gpu_nodes = serializers.IntegerField(min_value=0, max_value=5000, required=False, default=0)
    cpu_plan = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    cpu_nodes = serializers.IntegerField(min_value=0, max_value=5000, required=False, default=0)
    ssh_keys = serializers.ListField(
        child=serializers.CharField(max_length=2000), required=False, default=list
    )


class NodeSerializer(serializers.ModelSerializer[Node]):
    class Meta:
        model = Node
        exclude = ["id", "cluster", "ordinal"]


class PartitionSerializer(serializers.ModelSerializer[Partition]):
    class Meta:
        model = Partition
        exclude = ["id", "cluster"]


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    by = serializers.CharField(source="by.username", default=None, allow_null=True)

    class Meta:
        model = Revision
        fields = ["number", "at", "by", "spec"]


class ChangeLineSerializer(serializers.ModelSerializer[ChangeLine]):
    class Meta:
        model = ChangeLine
        fields = ["at", "tone", "text"]


class ChangeSerializer(serializers.ModelSerializer[Change]):
    by = serializers.CharField(source="by.username", default=None, allow_null=True)
    base = serializers.IntegerField(source="base.number", default=None, allow_null=True)
    revision = serializers.IntegerField(source="revision.number", default=None, allow_null=True)
    cancelled_by = serializers.CharField(source="cancelled_by.username", default=None, allow_null=True)

    class Meta:
        model = Change
        fields = [
            "number",
            "kind",
            "status",
            "summary",
            "base",
            "revision",
            "by",
            "at",
            "ended_at",
            "why",
            "problems",
            "force",
            "waits_for",
            "cancelled_by",
        ]


class ChangeDetailSerializer(ChangeSerializer):
    log = ChangeLineSerializer(source="lines", many=True)

    class Meta(ChangeSerializer.Meta):
        fields = [*ChangeSerializer.Meta.fields, "log"]


class FileDiffSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    what = serializers.ChoiceField(["added", "changed", "removed"], source="word")
    diff = serializers.CharField(source="text", help_text="Unified, three lines of context.")
