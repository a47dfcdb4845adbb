"""Teams and their clusters: list, create, look, and the actions on a whole cluster."""

from collections.abc import Mapping

from django.db.models import F
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import acts, changes, cloning
from clusters.api.base import ActionView, ClusterView, TeamView, checked, page_of
from clusters.api.previews import StartSerializer, hold_to, when_of
from clusters.api.serializers import (
    ChangeSerializer,
    CloneSerializer,
    ClusterSerializer,
    OrderSerializer,
    TeamSerializer,
)
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Change, Cluster
from clusters.mountable import MountOrder, mounts_for, offered
from clusters.order import Order, spec_for
from clusters.scaling import GROUPS, misfits, rescale
from clusters.spec import Shape
from console.access import SIGNED_IN
from console.errors import Conflict, Problem, Rejected
from console.models import Team
from console.roles import Action

ORDER_EXAMPLE = OpenApiExample(
    "Four GPU workers and two CPU workers",
    value={
        "name": "llama", "region": "local", "image": "slurm-24-11",
        "gpu_plan": "h100-8", "gpu_nodes": 4, "cpu_plan": "cpu-64", "cpu_nodes": 2, "ssh_keys": [],
    },
    request_only=True,
)  # fmt: skip


class Teams(ActionView):
    """The teams you are in, with your role."""

    action = SIGNED_IN

    @extend_schema(responses=TeamSerializer(many=True))
    def get(self, request: Request) -> Response:
        teams = Team.objects.filter(memberships__user_id=request.user.pk or 0).annotate(
            role=F("memberships__role")
        )
        return page_of(request, teams.order_by("slug"), TeamSerializer)


class Clusters(TeamView):
    """A team's clusters, terminated ones included until they are deleted."""

    actions = {"GET": Action.VIEW, "POST": Action.CREATE_CLUSTER}

    @extend_schema(responses=ClusterSerializer(many=True))
    def get(self, request: Request, team: str) -> Response:
        rows = Cluster.objects.filter(team=self.membership.team).exclude(status=Status.DELETED)
        return page_of(
            request, rows.select_related("team", "region", "revision").order_by("slug"), ClusterSerializer
        )

    @extend_schema(request=OrderSerializer, responses={201: ClusterSerializer}, examples=[ORDER_EXAMPLE])
    def post(self, request: Request, team: str) -> Response:
        data = checked(OrderSerializer(data=request.data))
        orders = [MountOrder(**order) for order in data["mounts"]]
        source = self._source(data["like"])
        rest = {key: value for key, value in data.items() if key not in ("mounts", "ssh_keys", "like")}
        region, spec = spec_for(Order(**rest, ssh_keys=tuple(data["ssh_keys"])))
        if orders:
            spec = spec.with_mounts(mounts_for(orders, offered(self.membership.team, region)))
        if source is not None:
            spec = cloning.like(source.spec, spec)
        made = changes.create_cluster(self.membership.team, region, spec, by=self.membership)
        return Response(ClusterSerializer(made).data, status=201)

    def _source(self, slug: str) -> Cluster | None:
        """Raises Rejected for what is no cluster of the team that can be cloned."""
        if not slug:
            return None
        found = self.membership.team.clusters.filter(slug=slug).exclude(status=Status.DELETED).first()
        if found is None:
            wrong = Problem("like", f"The team has no cluster {slug}.", "Its list shows them all.")
            raise Rejected("Nothing was created.", (wrong,))
        return found


class Clone(ClusterView):
    """The order of another cluster like this one, and what it will not have."""

    actions = {"GET": Action.CREATE_CLUSTER}

    @extend_schema(responses=CloneSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        found = self.door.cluster
        if why := refusal(Status(found.status), Step.CLONE):
            raise Conflict(why, "Its page shows what it allows now.")
        told = {"order": cloning.order_of(found), "left_out": cloning.left_out(found)}
        return Response(CloneSerializer(told).data)


class ClusterDetail(ClusterView):
    """One cluster: its status, its parts and its desired state."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=ClusterSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(ClusterSerializer(self.door.cluster).data)


class ConfirmSerializer(StartSerializer):
    """The cluster's name once more: what keeps a script from deleting the wrong one."""

    name = serializers.CharField()


class ClusterAction(ClusterView):
    """Base of the three actions on a whole cluster; each answers with the Change that carries it out."""

    @staticmethod
    def answer(change: Change) -> Response:
        return Response(ChangeSerializer(change).data, status=202)


class Reconfigure(ClusterAction):
    """Render the desired state again and apply it."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=StartSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data, found = checked(StartSerializer(data=request.data)), self.door.cluster
        hold_to(found, acts.Reapply(found.spec), data["promise"])
        return self.answer(changes.reconfigure(found, by=self.door.membership, start_at=when_of(data)))


class Terminate(ClusterAction):
    """Stop the cluster; its record, accounting and volumes stay."""

    actions = {"POST": Action.TERMINATE_CLUSTER}

    @extend_schema(request=StartSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data, found = checked(StartSerializer(data=request.data)), self.door.cluster
        hold_to(found, acts.Terminate(found.spec), data["promise"])
        return self.answer(changes.terminate(found, by=self.door.membership, start_at=when_of(data)))


class Delete(ClusterAction):
    """Remove what is left of the cluster."""

    actions = {"POST": Action.DELETE_CLUSTER}

    @extend_schema(request=ConfirmSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(ConfirmSerializer(data=request.data))
        if data["name"] != cluster:
            raise serializers.ValidationError({"name": [f"Write {cluster} to delete it."]})
        found = self.door.cluster
        hold_to(found, acts.Delete(found.spec), data["promise"])
        return self.answer(changes.delete(found, by=self.door.membership, start_at=when_of(data)))


class ScaleSerializer(StartSerializer):
    """How many workers each group should have; a group left out stays, and one with 0 goes with its partition. New ones
    take the lowest free numbers; when there are to be fewer, those in `leaving` go, and then the ones with the highest
    numbers. A group that the cluster does not have yet (`slinky`, `cpu-workers`) needs its plan."""

    groups = serializers.DictField(child=serializers.IntegerField(min_value=0, max_value=5000))
    plans = serializers.DictField(
        child=serializers.CharField(max_length=40),
        required=False,
        default=dict,
        help_text="Of a group that is added: the slug of its machines' plan.",
    )
    leaving = serializers.ListField(
        child=serializers.CharField(max_length=64),
        max_length=5000,
        required=False,
        default=list,
        help_text="Slurm names of nodes that are to go, such as slinky-1.",
    )
    force = serializers.BooleanField(
        default=False,
        help_text="End the jobs on nodes that go; left out, the change waits until they have ended.",
    )
    base = serializers.IntegerField(min_value=1, help_text="The revision you looked at.")


def _shapes(cluster: Cluster, counts: Mapping[str, int], plans: Mapping[str, str]) -> dict[str, Shape]:
    """The machines of groups that are added. Raises Rejected for one that cannot be, or whose plan is not known."""
    fresh = [name for name in counts if cluster.spec.group(name) is None]
    known = {plan.slug: plan.shape for plan in cluster.region.plans.all()}
    problems = [
        Problem(f"groups.{name}", f"There is no group {name}, only {' and '.join(GROUPS)}.")
        for name in fresh
        if name not in GROUPS
    ]
    problems += [
        Problem(f"plans.{name}", f"{cluster.slug} has no {name} yet: name the plan of its machines.")
        for name in fresh
        if name in GROUPS and plans.get(name) not in known
    ]
    if problems:
        raise Rejected(f"{cluster.slug} was not scaled.", tuple(problems))
    return {name: known[plans[name]] for name in fresh}


class Scale(ClusterAction):
    """Change the number of workers of one or more groups, add a group or take one away."""

    actions = {"POST": Action.CHANGE_CLUSTER}

    @extend_schema(request=ScaleSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(ScaleSerializer(data=request.data))
        spec = self.door.cluster.spec
        shapes = _shapes(self.door.cluster, data["groups"], data["plans"])
        if misfit := tuple(misfits(spec, data["groups"], data["leaving"])):
            raise Rejected(f"{cluster} was not scaled.", misfit)
        before, spec = spec, rescale(spec, data["groups"], data["leaving"], shapes)
        hold_to(self.door.cluster, acts.Edit(before, spec, data["force"]), data["promise"])
        return self.answer(
            changes.propose(
                self.door.cluster,
                spec,
                base=data["base"],
                by=self.door.membership,
                force=data["force"],
                start_at=when_of(data),
            )
        )
