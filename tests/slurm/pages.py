"""How the tests of Slurm's pages sign in, name pages and read answers."""

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from clusters.models import Cluster
from console.models import Membership


def signed_in(membership: Membership) -> Client:
    client = Client()
    client.force_login(membership.user)
    return client


def at(cluster: Cluster, name: str, *args: object) -> str:
    return reverse(name, args=(cluster.team.slug, cluster.slug, *args))


def text_of(response: HttpResponse) -> str:
    return " ".join(response.content.decode().split())
