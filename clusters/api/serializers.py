"""The shapes that the API shows. Desired state is always the `ClusterSpec` document, in its own field paths."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from clusters.lifecycle import Status, Step, allows
from clusters.models import Change, ChangeLine, Cluster, Node, Partition, Revision
from clusters.rolling import from_json
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


class MountOrderSerializer(serializers.Serializer[Any]):
    """A volume of the team, by name, at a path on the login node and every worker. A dataset is always read-only."""

    volume = serializers.CharField(max_length=40)
    path = serializers.CharField(max_length=200)
    read_only = serializers.BooleanField(required=False, default=False)  # type: ignore[assignment]  # a field, no option


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
    mounts = MountOrderSerializer(many=True, required=False, default=list)
    like = serializers.SlugField(
        max_length=40,
        required=False,
        default="",
        allow_blank=True,
        help_text="A cluster of the team whose slurm.conf, own partitions and other settings are copied.",
    )
    login_users = serializers.BooleanField(
        required=False, allow_null=True, default=None,
        help_text="Everybody signs in as themselves. Left out, it is on where the region can have login users.",
    )  # fmt: skip
    homes = serializers.CharField(
        max_length=200, required=False, default="", allow_blank=True,
        help_text="The path of the mount that login users' homes are on; left out, they are on the cluster itself.",
    )  # fmt: skip


class LeftOutSerializer(serializers.Serializer[Any]):
    """What a clone will not have: why, and what can be done about it."""

    what = serializers.CharField()
    why = serializers.CharField()
    instead = serializers.CharField()


class CloneSerializer(serializers.Serializer[Any]):
    """`order` is what to send to the team's clusters, changed as one likes."""

    order = OrderSerializer()
    left_out = LeftOutSerializer(many=True)


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
            "start_at",
            "when_idle",
            "waits_for",
            "cancelled_by",
        ]


class RestartProgressSerializer(serializers.Serializer[Any]):
    """`targets` are nodes in their order, or one service; `begun` are on their way, `untouched` are not, and `left_out`
    are nodes that somebody had drained."""

    targets = serializers.ListField(child=serializers.CharField())
    at_once = serializers.IntegerField()
    when_idle = serializers.BooleanField()
    done = serializers.ListField(child=serializers.CharField())
    begun = serializers.ListField(child=serializers.CharField(), source="under_way")
    untouched = serializers.ListField(child=serializers.CharField())
    left_out = serializers.ListField(child=serializers.CharField())


class ChangeDetailSerializer(ChangeSerializer):
    """`impact` is what was promised when somebody last said yes to it, as a preview shows it. `restart` is how far a
    restart has come, null for every other change."""

    log = ChangeLineSerializer(source="lines", many=True)
    impact = serializers.DictField(allow_null=True)
    restart = serializers.SerializerMethodField()

    class Meta(ChangeSerializer.Meta):
        fields = [*ChangeSerializer.Meta.fields, "impact", "restart", "log"]

    @extend_schema_field(RestartProgressSerializer(allow_null=True))
    def get_restart(self, change: Change) -> dict[str, Any] | None:
        return dict(RestartProgressSerializer(from_json(change.course)).data) if change.course else None


class FileDiffSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    what = serializers.ChoiceField(["added", "changed", "removed"], source="word")
    diff = serializers.CharField(source="text", help_text="Unified, three lines of context.")
