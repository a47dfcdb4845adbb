"""Limits with how much of each is used, fair share, and what the priority of waiting jobs is made of.

One's own, or of any user for those who may see all.
"""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.access import Door
from clusters.api.base import ClusterView
from console.errors import Conflict
from console.roles import Action
from slurm.accounts.accounting import NO_ACCOUNTING, ledger_of, require_running, user_in
from slurm.accounts.standing import slurm_user_of, standing_of
from slurm.api.accounts import AssociationSerializer
from slurm.api.enforcement import EnforcementSerializer


class InAccountSerializer(serializers.Serializer[Any]):
    """`fair_share` is between 0 (much used) and 1; minutes fade, and are null where Slurm counts no shares."""

    association = AssociationSerializer()
    fair_share = serializers.FloatField(source="share.fair_share", default=None, allow_null=True)
    used_minutes = serializers.DictField(
        source="share.used_minutes", child=serializers.FloatField(), default=None, allow_null=True
    )


class UseSerializer(serializers.Serializer[Any]):
    """`used` is null for limits of each single job, and where it is not known."""

    scope = serializers.CharField()
    option = serializers.CharField(source="limit.option")
    label = serializers.CharField(source="limit.label")  # type: ignore[assignment]  # no attribute
    words = serializers.CharField()
    used = serializers.FloatField(allow_null=True)
    total = serializers.FloatField()


class PartSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.IntegerField()
    most = serializers.IntegerField()


class WaitingSerializer(serializers.Serializer[Any]):
    """`parts` add up to `priority`, less the job's nice; both are null for a job that does not compete."""

    job = serializers.CharField(source="job.job_id")
    why = serializers.CharField(source="job.why")
    priority = serializers.IntegerField(source="ranked.total", default=None, allow_null=True)
    parts = PartSerializer(source="ranked.parts", many=True, default=None, allow_null=True)
    sentence = serializers.CharField(source="ranked.sentence", default="")


class UsageSerializer(serializers.Serializer[Any]):
    """`is_shared`: the caller is linked to no user, so this is the one that everybody's jobs run as."""

    user = serializers.CharField()
    is_shared = serializers.BooleanField()
    enforced = EnforcementSerializer()
    accounts = InAccountSerializer(many=True)
    uses = UseSerializer(many=True)
    waiting = WaitingSerializer(many=True)
    problems = serializers.ListField(child=serializers.CharField())


class Usage(ClusterView):
    """One's own."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=UsageSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return _usage(self.door, "")


class UserUsage(ClusterView):
    """Of any user."""

    actions = {"GET": Action.VIEW_ACCOUNTS}

    @extend_schema(responses=UsageSerializer)
    def get(self, request: Request, team: str, cluster: str, user: str) -> Response:
        return _usage(self.door, user)


def _usage(door: Door, user: str) -> Response:
    require_running(door.cluster)
    ledger = ledger_of(door.cluster)
    book = ledger.book
    if book is None:
        raise Conflict(NO_ACCOUNTING)
    if user:
        user_in(book, user)
    name, is_shared = (user, False) if user else slurm_user_of(door, lambda: book)
    found = standing_of(door.cluster, book, name, ledger.enforcement)
    told = {
        "user": name,
        "is_shared": is_shared,
        "enforced": ledger.enforcement,
        "accounts": found.accounts,
        "uses": found.uses,
        "waiting": found.waiting,
        "problems": found.problems,
    }
    return Response(UsageSerializer(told).data)
