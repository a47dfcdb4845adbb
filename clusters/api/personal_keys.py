"""Your own SSH keys, as on your profile page."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import personal_keys
from clusters.api.base import OwnView, checked, page_of
from clusters.models import PersonalKey
from console.roles import Scope

EXAMPLE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI... ada@laptop"


class PersonalKeySerializer(serializers.ModelSerializer[PersonalKey]):
    number = serializers.IntegerField(source="pk")

    class Meta:
        model = PersonalKey
        fields = ["number", "type", "bits", "comment", "fingerprint", "added_at"]


class NewPersonalKeySerializer(serializers.Serializer[Any]):
    line = serializers.CharField(max_length=20_000, help_text="The line of the `.pub` file.")


class Keys(OwnView):
    """Your public keys: they sign you in to every cluster where you have a login, within seconds. Adding one takes a
    token with the scope `admin`: a key is a way in that outlives the token."""

    scopes = {"POST": Scope.ADMIN}

    @extend_schema(responses=PersonalKeySerializer(many=True))
    def get(self, request: Request) -> Response:
        rows = PersonalKey.objects.filter(user=self.me(request)).order_by("pk")
        return page_of(request, rows, PersonalKeySerializer)

    @extend_schema(
        request=NewPersonalKeySerializer,
        responses={201: PersonalKeySerializer},
        examples=[OpenApiExample("A key", value={"line": EXAMPLE}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        data = checked(NewPersonalKeySerializer(data=request.data))
        made = personal_keys.add(self.me(request), data["line"])
        return Response(PersonalKeySerializer(made).data, status=201)


class OneKey(OwnView):
    """One of your keys."""

    scopes = {"DELETE": Scope.ADMIN}

    @extend_schema(responses=PersonalKeySerializer)
    def get(self, request: Request, number: int) -> Response:
        return Response(PersonalKeySerializer(personal_keys.key_of(self.me(request), number)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, number: int) -> Response:
        """Take it away: it opens no login node any more within seconds. Takes a token with the scope `admin`."""
        personal_keys.remove(self.me(request), number)
        return Response(status=204)
