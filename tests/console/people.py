"""A team's people at the pages and the API: for the tests of members and of invitations."""

from django.test import Client

from console.models import Membership
from tests.cast import person

PEOPLE = "/t/research/members/"


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(person(name))
    return client


def role_of(name: str) -> str | None:
    return Membership.objects.filter(user__username=name).values_list("role", flat=True).first()
