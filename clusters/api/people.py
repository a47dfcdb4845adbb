"""A team's people and what they did, for scripts. The acts are `console.members`'; nothing is decided here."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ActionView, TeamView, checked, page_of
from console import invitations, members
from console.access import SIGNED_IN
from console.activity import Wanted, events_of, verb_words
from console.models import ApiToken, Event, Invitation, Membership, User
from console.roles import Action, Role
from console.sessions import OpenSessions

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
    slurm_users = serializers.SerializerMethodField(help_text="Whose jobs are this person's own.")

    class Meta:
        model = Membership
        fields = ["name", "role", "slurm_users", "joined_at", "last_sign_in"]

    def get_slurm_users(self, member: Membership) -> list[str]:
        return member.slurm_users.split()


class RoleSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=ROLES, help_text="Not above your own.")


class NewMemberSerializer(RoleSerializer):
    name = serializers.CharField(max_length=150, help_text="The name of an existing account.")


class HandoverSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=150, help_text="A member of the team, who becomes its owner.")


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    number = serializers.IntegerField(source="pk")
    by = serializers.CharField(source="by.username")

    class Meta:
        model = Invitation
        fields = ["number", "role", "email", "by", "made_at", "expires_at"]


class NewInvitationSerializer(RoleSerializer):
    email = serializers.EmailField(
        max_length=254, required=False, default="", allow_blank=True, help_text="A note: nothing is sent."
    )
    days = serializers.IntegerField(
        min_value=1, max_value=invitations.MOST_DAYS, required=False, default=invitations.DAYS
    )


class MadeInvitationSerializer(InvitationSerializer):
    link = serializers.CharField(help_text="Lets whoever holds it in, once. It is told only here.")

    class Meta(InvitationSerializer.Meta):
        fields = [*InvitationSerializer.Meta.fields, "link"]


class SlurmUsersSerializer(serializers.Serializer[Any]):
    slurm_users = serializers.ListField(child=serializers.CharField(max_length=32), max_length=20)


class EventSerializer(serializers.ModelSerializer[Event]):
    what = serializers.SerializerMethodField()

    class Meta:
        model = Event
        fields = [
            "at",
            "who",
            "verb",
            "what",
            "cluster",
            "target",
            "outcome",
            "detail",
            "address",
            "as_staff",
        ]

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


class SessionSerializer(serializers.Serializer[Any]):
    browser = serializers.CharField(help_text="As far as it says which it is.")
    address = serializers.CharField()
    began_at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField(help_text="Exact to a minute.")
    is_this = serializers.BooleanField(help_text="The one that this request came with.")


class Sessions(ActionView):
    """Browsers that are signed in as you, the one seen last first. They are signed out on your profile page."""

    action = SIGNED_IN

    @extend_schema(responses=SessionSerializer(many=True))
    def get(self, request: Request) -> Response:
        assert isinstance(request.user, User), "the API lets nobody else through"
        return page_of(request, OpenSessions(request.user, request.session.session_key), SessionSerializer)


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


class SlurmUsers(TeamView):
    """Which Slurm users a member is: their jobs are the member's own."""

    actions = {"PUT": Action.CHANGE_MEMBERS}

    @extend_schema(request=SlurmUsersSerializer, responses=MemberSerializer)
    def put(self, request: Request, team: str, member: str) -> Response:
        names = checked(SlurmUsersSerializer(data=request.data))["slurm_users"]
        return Response(MemberSerializer(members.link_slurm_users(member, names, by=self.membership)).data)


class Own(TeamView):
    """Your own place in the team: give it up. The last owner hands over first."""

    actions = {"DELETE": Action.LEAVE_TEAM}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, team: str) -> Response:
        members.leave(by=self.membership)
        return Response(status=204)


class Owner(TeamView):
    """Hand the team over: the member becomes owner, you become admin."""

    actions = {"PUT": Action.CHANGE_OWNER}

    @extend_schema(request=HandoverSerializer, responses=MemberSerializer)
    def put(self, request: Request, team: str) -> Response:
        name = checked(HandoverSerializer(data=request.data))["name"]
        members.hand_over(name, by=self.membership)
        return Response(MemberSerializer(members.member_of(self.membership.team, name)).data)


class Invitations(TeamView):
    """Invitations that can still be used. Their links are told once, when they are made."""

    actions = {"GET": Action.CHANGE_MEMBERS, "POST": Action.CHANGE_MEMBERS}

    @extend_schema(responses=InvitationSerializer(many=True))
    def get(self, request: Request, team: str) -> Response:
        return page_of(request, invitations.open_in(self.membership.team), InvitationSerializer)

    @extend_schema(request=NewInvitationSerializer, responses={201: MadeInvitationSerializer})
    def post(self, request: Request, team: str) -> Response:
        data = checked(NewInvitationSerializer(data=request.data))
        made, token = invitations.invite(
            Role(data["role"]), by=self.membership, email=data["email"], days=data["days"]
        )
        made.link = request.build_absolute_uri(reverse("invitation", kwargs={"token": token}))  # type: ignore[attr-defined]
        return Response(MadeInvitationSerializer(made).data, status=201)


class OneInvitation(TeamView):
    actions = {"DELETE": Action.CHANGE_MEMBERS}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, team: str, number: int) -> Response:
        invitations.revoke(number, by=self.membership)
        return Response(status=204)


class Activity(TeamView):
    """What was done and tried in the team, newest first."""

    actions = {"GET": Action.VIEW_ACTIVITY}

    @extend_schema(parameters=FILTERS, responses=EventSerializer(many=True))
    def get(self, request: Request, team: str) -> Response:
        wanted = Wanted.from_query(request.query_params.dict())
        return page_of(request, events_of(self.membership.team, wanted), EventSerializer)
