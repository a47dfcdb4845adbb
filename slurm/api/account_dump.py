"""The accounting database as sacctmgr's own file: read out, and read in again."""

from dataclasses import asdict, replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import checked
from console.errors import Rejected
from console.roles import Action
from slurm.accounts.accounting import carry_out, dump_of, reading_of
from slurm.accounts.dump import MOST_BYTES
from slurm.api.accounts import PREVIEW, AccountsView, DoneSerializer, is_preview
from slurm.outputs.text import decoded


class DumpSerializer(serializers.Serializer[Any]):
    """`text` is the file, as `sacctmgr load` reads it."""

    text = serializers.CharField(max_length=MOST_BYTES, trim_whitespace=False)


class DifferenceSerializer(serializers.Serializer[Any]):
    """`sign` is + for what is added, ~ for what is changed."""

    sign = serializers.CharField()
    what = serializers.CharField()


class RestoredSerializer(DoneSerializer):
    differences = DifferenceSerializer(many=True)


class AccountDump(AccountsView):
    """All that is set on accounts and users."""

    actions = {"GET": Action.VIEW_ACCOUNTS}

    @extend_schema(responses=DumpSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response({"text": decoded(dump_of(self.door))})


class AccountRestore(AccountsView):
    """Read such a file in. It adds and changes; what the file does not have stays."""

    actions = {"POST": Action.CHANGE_ACCOUNTS}

    @extend_schema(parameters=[PREVIEW], request=DumpSerializer, responses=RestoredSerializer)
    def post(self, request: Request, team: str, cluster: str) -> Response:
        text = checked(DumpSerializer(data=request.data))["text"].replace("\r\n", "\n")
        book = self.book()
        try:
            reading = reading_of(self.door.cluster, book, text)
        except Rejected as refusal:
            problems = tuple(replace(problem, path="text") for problem in refusal.problems)
            raise Rejected(refusal.message, problems, refusal.hint) from refusal
        ran = not is_preview(request)
        if ran:
            carry_out(self.door, "account.restore", book.cluster, reading.plan)
        commands = [list(command.argv) for command in reading.plan]
        return Response(
            {"commands": commands, "ran": ran, "differences": [asdict(one) for one in reading.differences]}
        )
