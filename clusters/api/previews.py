"""What a change or an operation would do, told before it is asked for. Nothing here touches anything."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec
from django.db import transaction
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.acts import Act, Drain, Edit, Fate, PartKind, Reboot, RestartPart, Resume
from clusters.api.base import ClusterView, checked
from clusters.changes import refuse
from clusters.impact import Impact
from clusters.impact_words import rows_of
from clusters.impacts import ACTS_OF_KIND, preview
from clusters.machine import Kind
from clusters.models import Cluster
from clusters.promises import is_ours, keep, token_of
from clusters.spec import ClusterSpec, from_json
from clusters.when import WHEN_IDLE, When
from console.errors import Missing, Problem, Rejected
from console.roles import Action

KINDS = (Kind.EDIT, Kind.RECONFIGURE, Kind.TERMINATE, Kind.DELETE)
OPERATIONS = ("restart", "reboot", "drain", "resume")
PROMISE_HELP = (
    "The `promise` of a preview: a 409 when it would cost more by now. Left out, nothing is held against it."
)

FATES = [fate.value for fate in Fate]


class TouchSerializer(serializers.Serializer[Any]):
    """One step, in the order in which they happen. `nodes` are Slurm names, of workers only."""

    part = serializers.CharField(help_text="accounting, controller, workers or login.")
    does = serializers.CharField(
        help_text="comes, reads (its configuration again), mounts, runs (an init script, at once), upgrades (its "
        "daemons, in place), restarts, closes (takes no new jobs), opens, goes or stops."
    )
    nodes = serializers.ListField(child=serializers.CharField())
    jobs = serializers.ChoiceField(choices=FATES, help_text="What becomes of jobs there.")
    loses = serializers.ListField(
        child=serializers.CharField(), help_text="Directories there whose files go."
    )
    is_rolling = serializers.BooleanField(help_text="Not all nodes are out at once.")


class FatedJobSerializer(serializers.Serializer[Any]):
    """A job that does not simply go on."""

    job_id = serializers.CharField()
    name = serializers.CharField()
    user = serializers.CharField()
    gpus = serializers.IntegerField()
    nodes = serializers.ListField(child=serializers.CharField())
    start_at = serializers.DateTimeField(allow_null=True)
    end_at = serializers.DateTimeField(allow_null=True, help_text="When its time limit ends it.")
    fate = serializers.ChoiceField(choices=FATES)


class RowSerializer(serializers.Serializer[Any]):
    """A line as the dialogs say it."""

    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes fields away before
    text = serializers.CharField()
    names = serializers.ListField(child=serializers.CharField())
    note = serializers.CharField()


class ImpactSerializer(serializers.Serializer[Any]):
    """`running` and `waiting` count the jobs that go on, `takes_s` is the median of the last changes of this sort.

    All of it is as of `as_of`, when the cluster was last seen.
    """

    sort = serializers.CharField()
    touches = TouchSerializer(many=True)
    jobs = FatedJobSerializer(many=True)
    unlisted = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many more there are, by fate."
    )
    partitions_gone = serializers.ListField(child=serializers.CharField())
    mounted = serializers.ListField(child=serializers.CharField())
    unmounted = serializers.ListField(child=serializers.CharField())
    signed_out = serializers.ListField(
        child=serializers.CharField(), help_text="Login users whose sessions end."
    )
    homes_deleted = serializers.ListField(
        child=serializers.CharField(), help_text="Homes of login users that are deleted."
    )
    running = serializers.IntegerField()
    waiting = serializers.IntegerField()
    until = serializers.DateTimeField(
        allow_null=True, help_text="The latest end of the jobs that are waited for."
    )
    terminals = serializers.IntegerField(allow_null=True, help_text="Open terminals that end.")
    takes_s = serializers.FloatField(allow_null=True)
    as_of = serializers.DateTimeField(allow_null=True)
    problem = serializers.CharField(help_text="Why the cluster could not be looked at since then.")
    says = RowSerializer(many=True)
    promise = serializers.CharField(help_text="Send it along with the act itself.")


class ChangePreviewSerializer(serializers.Serializer[Any]):
    """An edit names the whole desired state that it asks for, as `spec` of the cluster shows it."""

    kind = serializers.ChoiceField(choices=[kind.value for kind in KINDS], default=Kind.EDIT.value)
    spec = serializers.DictField(required=False, help_text="Of an edit: the ClusterSpec to be.")
    force = serializers.BooleanField(default=False, help_text="End jobs that would otherwise be waited for.")


class OperationPreviewSerializer(serializers.Serializer[Any]):
    operation = serializers.ChoiceField(choices=OPERATIONS)
    part = serializers.ChoiceField(choices=["controller", "login", "workers"], required=False)
    nodes = serializers.ListField(
        child=serializers.CharField(max_length=64), max_length=1000, required=False, default=list
    )
    when_idle = serializers.BooleanField(default=False)
    at_once = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=100_000,
        help_text="Of workers: so many at a time; 0 is all together.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["operation"] == "restart" and "part" not in attrs:
            raise serializers.ValidationError({"part": "Say what is restarted."})
        if attrs["operation"] != "restart" and not attrs["nodes"]:
            raise serializers.ValidationError({"nodes": "Name at least one node."})
        return attrs


class PromiseSerializer(serializers.Serializer[Any]):
    """What every act takes that has a preview."""

    promise = serializers.CharField(required=False, default="", max_length=2_000_000, help_text=PROMISE_HELP)


class StartSerializer(PromiseSerializer):
    """What every change takes that may start later."""

    start_at = serializers.DateTimeField(
        required=False, default=None, allow_null=True, help_text="Left out, it starts now."
    )
    when_idle = serializers.BooleanField(
        default=False,
        help_text="Start when no job runs any more that it would end; their nodes take no new ones until then.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("start_at") and attrs.get("when_idle"):
            raise serializers.ValidationError({"when_idle": "At a time or when idle, not both."})
        return attrs


class ChangePreview(ClusterView):
    """What a change would restart, end, delay and lose. Touches nothing."""

    actions = {"POST": Action.VIEW}

    @extend_schema(
        request=ChangePreviewSerializer,
        responses=ImpactSerializer,
        examples=[OpenApiExample("Terminating", value={"kind": "terminate"}, request_only=True)],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(ChangePreviewSerializer(data=request.data))
        return _answer(self.door.cluster, _change(self.door.cluster, data))


class OperationPreview(ClusterView):
    """What an operation would restart, end, delay and lose. Touches nothing."""

    actions = {"POST": Action.VIEW}

    @extend_schema(
        request=OperationPreviewSerializer,
        responses=ImpactSerializer,
        examples=[
            OpenApiExample(
                "The login node", value={"operation": "restart", "part": "login"}, request_only=True
            ),
            OpenApiExample(
                "One node",
                value={"operation": "reboot", "nodes": ["slinky-0"]},
                request_only=True,
            ),
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(OperationPreviewSerializer(data=request.data))
        return _answer(self.door.cluster, _operation(self.door.cluster, data))


class HomeSerializer(serializers.Serializer[Any]):
    user = serializers.CharField()
    bytes = serializers.IntegerField()


class Homes(ClusterView):
    """Whose files are in homes on the login node itself, on no volume: what its restart or the cluster's end loses.

    Asks the cluster, for some seconds at most; 503 when it cannot tell.
    """

    actions = {"GET": Action.RESTART_CLUSTER}

    @extend_schema(responses=HomeSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(HomeSerializer(self.door.cluster.provisioner.homes(), many=True).data)


def when_of(data: Mapping[str, Any]) -> When:
    """When it is to start, as a StartSerializer has read it."""
    return WHEN_IDLE if data["when_idle"] else data["start_at"]


def hold_to(cluster: Cluster, act: Act, promise: str) -> None:
    """Raise Grown if a promise was sent along and the act would cost more by now, Rejected for what is none: whoever
    sends one counts on it."""
    if not promise:
        return
    if not is_ours(promise):
        wrong = Problem("promise", "This is no promise of a preview.", "Ask for the preview again.")
        raise Rejected("Nothing was done.", (wrong,))
    keep(promise, preview(cluster, act))


def _answer(cluster: Cluster, act: Act) -> Response:
    return Response(ImpactSerializer(_shown(preview(cluster, act))).data)


def _shown(impact: Impact) -> dict[str, object]:
    told = {**asdict(impact), "until": impact.until, "promise": token_of(impact)}
    return {**told, "says": [asdict(row) for row in rows_of(impact)]}


def _change(cluster: Cluster, data: Mapping[str, Any]) -> Act:
    spec = cluster.spec
    if data["kind"] == Kind.EDIT:
        return Edit(spec, _wanted(cluster, data.get("spec")), data["force"])
    return ACTS_OF_KIND[Kind(data["kind"])](spec)


def _wanted(cluster: Cluster, document: object) -> ClusterSpec:
    """Raises Rejected for what is no spec, or none that may become a revision."""
    try:
        spec = from_json(document)
    except msgspec.ValidationError as error:
        raise Rejected("This is no desired state.", (Problem("spec", f"{error}."),)) from error
    # Asked as for a change, which holds the volumes that it mounts until it is written.
    with transaction.atomic():
        refuse(cluster.team, cluster.region, spec, before=cluster.spec)
    return spec


def _operation(cluster: Cluster, data: Mapping[str, Any]) -> Act:
    spec, nodes = cluster.spec, tuple(dict.fromkeys(data["nodes"]))
    if data["operation"] == "restart":
        if data["part"] == PartKind.WORKERS and data["at_once"]:
            return Reboot(spec, spec.node_names, data["when_idle"], data["at_once"])
        return RestartPart(spec, PartKind(data["part"]), data["when_idle"])
    known = set(cluster.nodes.filter(name__in=nodes).values_list("name", flat=True))
    if unknown := [name for name in nodes if name not in known]:
        raise Missing(
            f"{cluster.slug} has no node {', '.join(unknown)[:100]}.", "The list of nodes shows them all."
        )
    if data["operation"] == "reboot":
        return Reboot(spec, nodes, data["when_idle"], data["at_once"])
    return Drain(spec, nodes) if data["operation"] == "drain" else Resume(spec, nodes)
