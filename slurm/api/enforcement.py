"""What of accounts, limits and QOS the controller enforces, and the change that makes it enforce all."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked
from clusters.api.previews import StartSerializer, hold_to, when_of
from clusters.api.serializers import ChangeSerializer
from console.roles import Action
from slurm.accounts.accounting import ledger_of, require_running
from slurm.accounts.enforcing import enforce, enforcing_of


class EnforcementSerializer(serializers.Serializer[Any]):
    """What the controller enforces (AccountingStorageEnforce), in a sentence, too."""

    associations = serializers.BooleanField(source="needs_association")
    limits = serializers.BooleanField()
    qos = serializers.BooleanField()
    sentence = serializers.CharField()


class Enforcement(ClusterView):
    """POST adds what is missing to the user's part of slurm.conf, as a change. Its users who are in no account submit
    nothing afterwards."""

    actions = {"GET": Action.VIEW, "POST": Action.CHANGE_CLUSTER}

    @extend_schema(responses=EnforcementSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        require_running(self.door.cluster)
        return Response(EnforcementSerializer(ledger_of(self.door.cluster).enforcement).data)

    @extend_schema(request=StartSerializer, responses={202: ChangeSerializer})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(StartSerializer(data=request.data))
        require_running(self.door.cluster)
        wanted = enforcing_of(self.door.cluster, ledger_of(self.door.cluster))
        hold_to(self.door.cluster, wanted.act, data["promise"])
        change = enforce(self.door, wanted, start_at=when_of(data))
        return Response(ChangeSerializer(change).data, status=202)
