"""Login users and keys of a cluster. Each change answers with the Change that carries it out."""

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import changes, logins
from clusters.acts import Edit
from clusters.api.base import ClusterView, checked
from clusters.api.previews import StartSerializer, hold_to, when_of
from clusters.api.serializers import ChangeSerializer
from clusters.login_rules import HOMES, JOBS
from clusters.logins import Row, Wish
from clusters.models import Change
from clusters.sshkeys import keys_in
from console.roles import Action


class LoginUserSerializer(serializers.Serializer[Any]):
    """`number` is uid and gid; the same on all clusters of the team, for ever."""

    login = serializers.CharField(source="user.name")
    account = serializers.SerializerMethodField(help_text="The account behind it, empty when that is gone.")
    number = serializers.IntegerField(source="user.uid")
    groups = serializers.ListField(child=serializers.CharField(), source="user.groups")
    sudo = serializers.BooleanField(source="user.sudo")
    keys = serializers.IntegerField(help_text="How many public keys sign them in.")
    home = serializers.CharField()

    def get_account(self, row: Row) -> str:
        return row.person.username if row.person else ""


class BaseSerializer(StartSerializer):
    base = serializers.IntegerField(min_value=1, help_text="The revision you looked at.")


class LoginRightsSerializer(BaseSerializer):
    groups = serializers.ListField(
        child=serializers.CharField(max_length=32), required=False, default=list, max_length=30,
        help_text="One that the team does not have yet is made.",
    )  # fmt: skip
    sudo = serializers.BooleanField(required=False, default=False, help_text="On the login node.")


class NewLoginUserSerializer(LoginRightsSerializer):
    account = serializers.CharField(max_length=150, help_text="A member of the team who may open terminals.")
    login = serializers.CharField(
        max_length=32, required=False, default="", allow_blank=True,
        help_text="Left out, it is like the name of the account.",
    )  # fmt: skip


class LeavingSerializer(BaseSerializer):
    jobs = serializers.ChoiceField(
        choices=JOBS, default="run", help_text="Let their jobs run, or cancel them."
    )
    home = serializers.ChoiceField(choices=HOMES, default="keep", help_text="What becomes of their home.")


class SettingsSerializer(serializers.Serializer[Any]):
    on = serializers.BooleanField(help_text="Everybody signs in as themselves.")
    homes = serializers.CharField(
        max_length=200, allow_blank=True,
        help_text="The path of the mount that homes are on; empty for the cluster itself.",
    )  # fmt: skip
    why_not = serializers.CharField(read_only=True, help_text="Why the region has no login users.")
    caveat = serializers.CharField(read_only=True, help_text="What they only look like there.")


class NewSettingsSerializer(BaseSerializer):
    on = serializers.BooleanField()
    homes = serializers.CharField(max_length=200, allow_blank=True, required=False, default="")


class ClusterKeySerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    bits = serializers.IntegerField()
    comment = serializers.CharField()
    fingerprint = serializers.CharField()


class NewClusterKeysSerializer(BaseSerializer):
    keys = serializers.ListField(
        child=serializers.CharField(max_length=9000),
        max_length=64,
        help_text="All of them: OpenSSH public key lines.",
    )


class LoginUsers(ClusterView):
    """Who signs in on the login node, by login."""

    actions = {"GET": Action.VIEW, "POST": Action.CHANGE_CLUSTER}

    @extend_schema(responses=LoginUserSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        rows = logins.rows_of(self.door.cluster) if self.door.cluster.spec.logins.on else []
        return Response({"results": LoginUserSerializer(rows, many=True).data, "next": None})

    @extend_schema(
        request=NewLoginUserSerializer,
        responses={202: ChangeSerializer},
        examples=[
            OpenApiExample("Mo", value={"base": 1, "account": "mo", "groups": ["vision"]}, request_only=True)
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        data, before = checked(NewLoginUserSerializer(data=request.data)), self.door.cluster.spec
        wish = Wish(tuple(data["groups"]), data["sudo"])
        after = logins.drafted(self.door.cluster, data["login"] or data["account"], None, wish)
        hold_to(self.door.cluster, Edit(before, after), data["promise"])
        return answer(
            logins.add(
                self.door, data["account"], data["login"], wish, base=data["base"], start_at=when_of(data)
            )
        )


class OneLoginUser(ClusterView):
    """Other groups, or sudo; or take the login away, and say what becomes of jobs and home."""

    actions = {"PUT": Action.CHANGE_CLUSTER, "DELETE": Action.CHANGE_CLUSTER}

    @extend_schema(request=LoginRightsSerializer, responses={202: ChangeSerializer})
    def put(self, request: Request, team: str, cluster: str, login: str) -> Response:
        logins.user_of(self.door.cluster, login)
        data, before = checked(LoginRightsSerializer(data=request.data)), self.door.cluster.spec
        wish = Wish(tuple(data["groups"]), data["sudo"])
        after = logins.drafted(self.door.cluster, login, None, wish)
        hold_to(self.door.cluster, Edit(before, after), data["promise"])
        return answer(logins.edit(self.door, login, wish, base=data["base"], start_at=when_of(data)))

    @extend_schema(request=LeavingSerializer, responses={202: ChangeSerializer})
    def delete(self, request: Request, team: str, cluster: str, login: str) -> Response:
        user = logins.user_of(self.door.cluster, login)
        data = checked(LeavingSerializer(data=request.data))
        before = self.door.cluster.spec
        after = logins.removed(before, user, jobs=data["jobs"], home=data["home"])
        hold_to(self.door.cluster, Edit(before, after), data["promise"])
        return answer(
            logins.remove(
                self.door,
                login,
                jobs=data["jobs"],
                home=data["home"],
                base=data["base"],
                start_at=when_of(data),
            )
        )


class Settings(ClusterView):
    """Login users on or off, and where their homes are."""

    actions = {"GET": Action.VIEW, "PUT": Action.CHANGE_CLUSTER}

    @extend_schema(responses=SettingsSerializer)
    def get(self, request: Request, team: str, cluster: str) -> Response:
        found, here = self.door.cluster.spec.logins, self.door.cluster.region.platform.logins()
        said = {"on": found.on, "homes": found.homes, "why_not": here.why_not, "caveat": here.caveat}
        return Response(SettingsSerializer(said).data)

    @extend_schema(request=NewSettingsSerializer, responses={202: ChangeSerializer})
    def put(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(NewSettingsSerializer(data=request.data))
        before = self.door.cluster.spec
        after = logins.switched(before, on=data["on"], homes=data["homes"])
        hold_to(self.door.cluster, Edit(before, after), data["promise"])
        return answer(
            logins.switch(
                self.door, on=data["on"], homes=data["homes"], base=data["base"], start_at=when_of(data)
            )
        )


class ClusterKeys(ClusterView):
    """The keys of the cluster itself: whoever holds one is root on the login node."""

    actions = {"GET": Action.VIEW, "PUT": Action.CHANGE_CLUSTER}

    @extend_schema(responses=ClusterKeySerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        found = [key for _, key in keys_in(self.door.cluster.spec.ssh_keys)]
        return Response({"results": ClusterKeySerializer(found, many=True).data, "next": None})

    @extend_schema(request=NewClusterKeysSerializer, responses={202: ChangeSerializer})
    def put(self, request: Request, team: str, cluster: str) -> Response:
        data = checked(NewClusterKeysSerializer(data=request.data))
        before = self.door.cluster.spec
        after = replace(before, ssh_keys=tuple(line.strip() for line in data["keys"]))
        hold_to(self.door.cluster, Edit(before, after), data["promise"])
        return answer(
            changes.propose(
                self.door.cluster,
                after,
                base=data["base"],
                by=self.door.membership,
                start_at=when_of(data),
            )
        )


def answer(change: Change) -> Response:
    return Response(ChangeSerializer(change).data, status=202)
