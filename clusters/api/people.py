"""A team's people and what they did, for scripts. The acts are `console.members`'; nothing is decided here."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ActionView, TeamView, checked, page_of
from console import members
from console.access import SIGNED_IN
from console.activity import Wanted, events_of, verb_words
from console.models import ApiToken, Event, Membership
from console.roles import Action, Role

ROLES = [role.value for role in Role]
FILTERS = [
    OpenApiParameter(name, str, description=text)
    for name, text in (
        ("q", "Looked for in people, clusters, targets and details."),
        ("who", "Who did it, exactly."),
        ("verb", "What was done, exactly."),
        ("cluster", "On which cluster, exactly."),
        ("outcome", "How it went: done, refused or failed."),
        ("since", "From this day on (UTC, 2026-11-30)."),
        ("until", "Up to this day, included."),
    )
]


class MemberSerializer(serializers.ModelSerializer[Membership]):
    name = serializers.CharField(source="user.username")
    last_sign_in = serializers.DateTimeField(source="user.last_login", allow_null=True)

    class Meta:
        model = Membership
        fields = ["name", "role", "joined_at", "last_sign_in"]


class RoleSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=ROLES, help_text="Not above your own.")


class NewMemberSerializer(RoleSerializer):
    name = serializers.CharField(max_length=150, help_text="The name of an existing account.")


class EventSerializer(serializers.ModelSerializer[Event]):
    what = serializers.SerializerMethodField()

    class Meta:
        model = Event
        fields = ["at", "who", "verb", "what", "cluster", "target", "outcome", "detail", "address"]

    def get_what(self, event: Event) -> str:
        return verb_words(event.verb)


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    scopes = serializers.SerializerMethodField()

    class Meta:
        model = ApiToken
        fields = ["name", "prefix", "scopes", "created_at", "expires_at", "last_used_at"]

    def get_scopes(self, token: ApiToken) -> list[str]:
        return token.scopes.split()


class Tokens(ActionView):
    """Your API tokens. They are made and revoked on your profile page: a token cannot make another."""

    action = SIGNED_IN

    @extend_schema(responses=TokenSerializer(many=True))
    def get(self, request: Request) -> Response:
        return page_of(
            request, ApiToken.objects.filter(user=request.user.pk or 0).order_by("-pk"), TokenSerializer
        )


class Members(TeamView):
    """Who is in the team, by name."""

    actions = {"GET": Action.VIEW_MEMBERS, "POST": Action.CHANGE_MEMBERS}

    @extend_schema(responses=MemberSerializer(many=True))
    def get(self, request: Request, team: str) -> Response:
        rows = Membership.objects.filter(team=self.membership.team).select_related("user")
        return page_of(request, rows.order_by("user__username"), MemberSerializer)

    @extend_schema(request=NewMemberSerializer, responses={201: MemberSerializer})
    def post(self, request: Request, team: str) -> Response:
        data = checked(NewMemberSerializer(data=request.data))
        made = members.add(data["name"], Role(data["role"]), by=self.membership)
        return Response(MemberSerializer(made).data, status=201)


class Member(TeamView):
    """One person's role in the team. Nobody changes a role above their own; the last owner stays."""

    actions = {"PUT": Action.CHANGE_MEMBERS, "DELETE": Action.CHANGE_MEMBERS}

    @extend_schema(request=RoleSerializer, responses=MemberSerializer)
    def put(self, request: Request, team: str, member: str) -> Response:
        role = Role(checked(RoleSerializer(data=request.data))["role"])
        return Response(MemberSerializer(members.change_role(member, role, by=self.membership)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, team: str, member: str) -> Response:
        members.remove(member, by=self.membership)
        return Response(status=204)


class Activity(TeamView):
    """What was done and tried in the team, newest first."""

    actions = {"GET": Action.VIEW_ACTIVITY}

    @extend_schema(parameters=FILTERS, responses=EventSerializer(many=True))
    def get(self, request: Request, team: str) -> Response:
        wanted = Wanted.from_query(request.query_params.dict())
        return page_of(request, events_of(self.membership.team, wanted), EventSerializer)
