"""Accounts, people in them, QOS and one's own usage. An act is one or more commands of sacctmgr, answered with them.

With `?preview=true` nothing runs: the answer holds the commands that would. Fields and their rules are those of the
pages' forms; a limit is a number (of GPUs, where it is of resources), or as `gres/gpu=8,cpu=64`; empty is none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked
from console.errors import Conflict, Problem, Rejected
from console.roles import Action
from slurm.accounts import deeds
from slurm.accounts.accounting import (
    account_in,
    book_of,
    carry_out,
    in_use,
    member_in,
    partitions_of,
    qos_in,
    user_in,
)
from slurm.accounts.book import Book
from slurm.accounts.deeds import Deed
from slurm.accounts.forms import (
    AccountForm,
    CoordinatorsForm,
    LimitsForm,
    MemberForm,
    QosForm,
    begun_association,
    begun_qos,
)
from slurm.accounts.limits import ASSOCIATION_LIMITS, QOS_LIMITS, Limit

PREVIEW = OpenApiParameter("preview", bool, description="Answer with the commands and run none.")
PARTITION = OpenApiParameter("partition", str, description="Of the association in that partition only.")


class _LimitFields(serializers.Serializer[Any]):
    """Adds a field for each limit of the catalogue."""

    catalogue: ClassVar[Sequence[Limit]] = ()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for limit in self.catalogue:
            about = f"{limit.label} ({limit.option}). {limit.help}".strip()
            fields[limit.field] = serializers.CharField(
                required=False, allow_blank=True, max_length=400, help_text=about
            )
        return fields


class _AssociationFields(_LimitFields):
    catalogue = ASSOCIATION_LIMITS

    shares = serializers.CharField(required=False, max_length=20, help_text="A whole number, or `parent`.")
    qos = serializers.ListField(
        child=serializers.CharField(max_length=63), required=False, max_length=200,
        help_text="Empty: the same as the account above.",
    )  # fmt: skip
    default_qos = serializers.CharField(required=False, allow_blank=True, max_length=63)


class AccountChangeSerializer(_AssociationFields):
    """What is left out stays as it is."""

    parent = serializers.CharField(required=False, max_length=63)  # type: ignore[assignment]  # no attribute
    description = serializers.CharField(required=False, allow_blank=True, max_length=200)
    organization = serializers.CharField(required=False, allow_blank=True, max_length=200)


class AccountNewSerializer(AccountChangeSerializer):
    name = serializers.CharField(max_length=63)


class MemberChangeSerializer(_AssociationFields):
    is_default = serializers.BooleanField(required=False)


class MemberNewSerializer(MemberChangeSerializer):
    user = serializers.CharField(max_length=63)
    partition = serializers.CharField(required=False, allow_blank=True, max_length=63)


class CoordinatorsSerializer(serializers.Serializer[Any]):
    """All of them: who is left out is one no longer."""

    coordinators = serializers.ListField(child=serializers.CharField(max_length=63), max_length=60)


class QosChangeSerializer(_LimitFields):
    catalogue = QOS_LIMITS

    description = serializers.CharField(required=False, allow_blank=True, max_length=200)
    priority = serializers.IntegerField(required=False, min_value=0)
    usage_factor = serializers.FloatField(required=False, min_value=0)
    preempt = serializers.ListField(
        child=serializers.CharField(max_length=63), required=False, max_length=200
    )
    preempt_mode = serializers.CharField(required=False, allow_blank=True, max_length=20)
    grace_s = serializers.IntegerField(required=False, min_value=0)
    flags = serializers.ListField(child=serializers.CharField(max_length=40), required=False, max_length=40)


class QosNewSerializer(QosChangeSerializer):
    name = serializers.CharField(max_length=63)


class AssociationSerializer(serializers.Serializer[Any]):
    """`shares` is null where the account's count; `limits` are by sacctmgr's option, minutes and MiB."""

    account = serializers.CharField()
    user = serializers.CharField()
    partition = serializers.CharField()
    parent = serializers.CharField()  # type: ignore[assignment]  # no attribute
    is_default = serializers.BooleanField()
    shares = serializers.IntegerField(allow_null=True)
    qos = serializers.ListField(child=serializers.CharField())
    default_qos = serializers.CharField()
    limits = serializers.DictField(child=serializers.CharField())


class AccountSerializer(serializers.Serializer[Any]):
    """`own` is what is set on the account, `in_force` the same with what the accounts above add. `coordinators` are its
    own, beside whom those of the accounts above count."""

    name = serializers.CharField()
    depth = serializers.IntegerField()
    description = serializers.CharField()
    organization = serializers.CharField()
    coordinators = serializers.ListField(child=serializers.CharField())
    own = AssociationSerializer()
    in_force = AssociationSerializer()
    people = AssociationSerializer(many=True)


class QosSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    description = serializers.CharField()
    priority = serializers.IntegerField()
    grace_s = serializers.IntegerField()
    preempt = serializers.ListField(child=serializers.CharField())
    preempt_mode = serializers.CharField()
    flags = serializers.ListField(child=serializers.CharField())
    usage_factor = serializers.FloatField()
    limits = serializers.DictField(child=serializers.CharField())


class DoneSerializer(serializers.Serializer[Any]):
    """The commands as argument lists, and whether they ran."""

    commands = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    ran = serializers.BooleanField()


def is_preview(request: Request) -> bool:
    return request.query_params.get("preview", "").lower() in ("1", "true", "yes")


class AccountsView(ClusterView):
    """Base: reads forms and carries acts out."""

    def book(self) -> Book:
        return book_of(self.door.cluster)

    def do(self, request: Request, deed: Callable[[], Deed], form: LimitsForm | None = None) -> Response:
        """Run it, or with `?preview=true` only say what would. Raises Rejected with the problems at their fields."""
        if form is not None and not form.is_valid():
            found = [Problem(name, str(text)) for name, texts in form.errors.items() for text in texts]
            raise Rejected("What was sent is not right.", tuple(found))
        act = deed()
        if act.problems and form is None:
            raise Conflict(" ".join(problem.message for problem in act.problems))
        if act.problems:
            raise Rejected("What was sent is not right.", act.problems)
        plan = act.plan()
        ran = not is_preview(request)
        if ran:
            carry_out(self.door, act.verb, act.target, plan)
        return Response({"commands": [list(command.argv) for command in plan], "ran": ran})


class Accounts(AccountsView):
    """The tree of accounts, parents before children."""

    actions = {"GET": Action.VIEW_ACCOUNTS, "POST": Action.CHANGE_ACCOUNTS}

    @extend_schema(responses=AccountSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(AccountSerializer(_accounts(self.book()), many=True).data)

    @extend_schema(
        parameters=[PREVIEW],
        request=AccountNewSerializer,
        responses=DoneSerializer,
        examples=[
            OpenApiExample(
                "Twelve GPUs at once",
                value={"name": "llm", "parent": "root", "shares": "20", "grp_tres": "12"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        book, sent = self.book(), checked(AccountNewSerializer(data=request.data))
        form = AccountForm({"parent": "root", **sent}, book=book)
        return self.do(request, lambda: deeds.adding_account(book, form), form)


class AccountDetail(AccountsView):
    """One account."""

    actions = {
        "GET": Action.VIEW_ACCOUNTS,
        "PATCH": Action.CHANGE_ACCOUNTS,
        "DELETE": Action.CHANGE_ACCOUNTS,
    }

    @extend_schema(responses=AccountSerializer)
    def get(self, request: Request, team: str, cluster: str, account: str) -> Response:
        book = self.book()
        account_in(book, account)
        return Response(
            AccountSerializer(next(one for one in _accounts(book) if one["name"] == account)).data
        )

    @extend_schema(parameters=[PREVIEW], request=AccountChangeSerializer, responses=DoneSerializer)
    def patch(self, request: Request, team: str, cluster: str, account: str) -> Response:
        book, sent = self.book(), checked(AccountChangeSerializer(data=request.data))
        before = account_in(book, account)
        form = AccountForm(
            {**begun_association(before, book.about(account)), **sent}, book=book, before=before
        )
        return self.do(request, lambda: deeds.changing_account(book, form), form)

    @extend_schema(parameters=[PREVIEW], responses=DoneSerializer)
    def delete(self, request: Request, team: str, cluster: str, account: str) -> Response:
        book = self.book()
        account_in(book, account)
        return self.do(request, lambda: deeds.removing_account(book, account, in_use(self.door.cluster)))


class AccountPeople(AccountsView):
    """A user more in the account."""

    actions = {"POST": Action.CHANGE_ACCOUNTS}

    @extend_schema(parameters=[PREVIEW], request=MemberNewSerializer, responses=DoneSerializer)
    def post(self, request: Request, team: str, cluster: str, account: str) -> Response:
        book, sent = self.book(), checked(MemberNewSerializer(data=request.data))
        account_in(book, account)
        partitions = partitions_of(self.door.cluster)
        form = MemberForm(dict(sent), book=book, account=account, partitions=partitions)
        return self.do(request, lambda: deeds.adding_member(book, form, partitions), form)


class AccountPerson(AccountsView):
    """One user in an account."""

    actions = {"PATCH": Action.CHANGE_ACCOUNTS, "DELETE": Action.CHANGE_ACCOUNTS}

    @extend_schema(parameters=[PREVIEW, PARTITION], request=MemberChangeSerializer, responses=DoneSerializer)
    def patch(self, request: Request, team: str, cluster: str, account: str, user: str) -> Response:
        book, sent = self.book(), checked(MemberChangeSerializer(data=request.data))
        before = member_in(book, account, user, request.query_params.get("partition", ""))
        form = MemberForm({**begun_association(before), **sent}, book=book, account=account, before=before)
        return self.do(request, lambda: deeds.changing_member(book, form), form)

    @extend_schema(parameters=[PREVIEW, PARTITION], responses=DoneSerializer)
    def delete(self, request: Request, team: str, cluster: str, account: str, user: str) -> Response:
        book = self.book()
        own = member_in(book, account, user, request.query_params.get("partition", ""))
        return self.do(request, lambda: deeds.removing_member(book, own, in_use(self.door.cluster)))


class AccountCoordinators(AccountsView):
    """Who adds people and accounts below this one, sets their limits and controls their jobs, with sacctmgr."""

    actions = {"PUT": Action.CHANGE_ACCOUNTS}

    @extend_schema(parameters=[PREVIEW], request=CoordinatorsSerializer, responses=DoneSerializer)
    def put(self, request: Request, team: str, cluster: str, account: str) -> Response:
        book, sent = self.book(), checked(CoordinatorsSerializer(data=request.data))
        account_in(book, account)
        typed = {"coordinators": ",".join(sent["coordinators"])}
        form = CoordinatorsForm(typed, account=account, before=book.coordinators_of(account))
        return self.do(request, lambda: deeds.changing_coordinators(book, form), form)


class AccountUserDetail(AccountsView):
    """A user in all accounts."""

    actions = {"GET": Action.VIEW_ACCOUNTS, "DELETE": Action.CHANGE_ACCOUNTS}

    @extend_schema(responses=AssociationSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str, user: str) -> Response:
        book = self.book()
        user_in(book, user)
        return Response(AssociationSerializer(book.of_user(user), many=True).data)

    @extend_schema(parameters=[PREVIEW], responses=DoneSerializer)
    def delete(self, request: Request, team: str, cluster: str, user: str) -> Response:
        book = self.book()
        user_in(book, user)
        return self.do(request, lambda: deeds.removing_user(book, user, in_use(self.door.cluster)))


class QosList(AccountsView):
    """Every QOS."""

    actions = {"GET": Action.VIEW_ACCOUNTS, "POST": Action.CHANGE_ACCOUNTS}

    @extend_schema(responses=QosSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        return Response(QosSerializer(self.book().qos, many=True).data)

    @extend_schema(parameters=[PREVIEW], request=QosNewSerializer, responses=DoneSerializer)
    def post(self, request: Request, team: str, cluster: str) -> Response:
        book, sent = self.book(), checked(QosNewSerializer(data=request.data))
        form = QosForm(dict(sent), book=book)
        return self.do(request, lambda: deeds.adding_qos(book, form), form)


class QosDetail(AccountsView):
    """One QOS."""

    actions = {
        "GET": Action.VIEW_ACCOUNTS,
        "PATCH": Action.CHANGE_ACCOUNTS,
        "DELETE": Action.CHANGE_ACCOUNTS,
    }

    @extend_schema(responses=QosSerializer)
    def get(self, request: Request, team: str, cluster: str, qos: str) -> Response:
        return Response(QosSerializer(qos_in(self.book(), qos)).data)

    @extend_schema(parameters=[PREVIEW], request=QosChangeSerializer, responses=DoneSerializer)
    def patch(self, request: Request, team: str, cluster: str, qos: str) -> Response:
        book, sent = self.book(), checked(QosChangeSerializer(data=request.data))
        before = qos_in(book, qos)
        form = QosForm({**begun_qos(before), **sent}, book=book, before=before)
        return self.do(request, lambda: deeds.changing_qos(book, form), form)

    @extend_schema(parameters=[PREVIEW], responses=DoneSerializer)
    def delete(self, request: Request, team: str, cluster: str, qos: str) -> Response:
        book = self.book()
        qos_in(book, qos)
        return self.do(request, lambda: deeds.removing_qos(book, qos, in_use(self.door.cluster)))


def _accounts(book: Book) -> list[Mapping[str, object]]:
    return [
        {
            "name": one.own.account,
            "depth": one.depth,
            "description": one.account.description,
            "organization": one.account.organization,
            "coordinators": book.coordinators_of(one.own.account),
            "own": one.own,
            "in_force": one.in_force,
            "people": one.people,
        }
        for one in book.tree()
    ]
