"""The addresses of every page of this console over the rows of `tests.seed`, so that a new one is looked at, too."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

from django.db import connections
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from clusters.finding import Finding, State, as_stored
from clusters.models import PersonalKey, Region
from clusters.spec import Logins, LoginUser, to_json
from console.models import Invitation, User
from console.tokens import make_token
from slurm.models import Recording
from tests.seed import KEY, Seed
from tests.test_doors import own_routes

CLUSTER = "/t/research/c/llama-pretrain/"
# What stands for the parameters of an address.
VALUES = {
    "<slug:team>": "research", "<slug:cluster>": "llama-pretrain", "<int:number>": "3", "<str:job>": "4127",
    "<str:part>": "workers", "<slug:volume>": "homes", "<str:account>": "llm", "<str:user>": "mo",
    "<str:qos>": "normal", "<str:login>": "mo", "<str:hook>": "worker_epilog", "<slug:region>": "lab",
    "<slug:provisioner>": "nowhere", "<str:document>": "rights.yaml", "<str:version>": "24.11",
    "<slug:session>": "none", "<str:token>": "none", "<slug:recording>": "one", "<str:name>": "slinky-3",
}  # fmt: skip


# Of a region that lacks something, with all that a finding can carry.
FOUND = (
    Finding("api", "API server", State.OK, "It answers."),
    Finding("gpus", "GPUs", State.WARN, "None is free.", "Wait.", ("a: 0 of 8",), ("kubectl get nodes",)),
    Finding("images", "Images", State.UNKNOWN, "Not run here yet."),
    Finding("rights", "Permissions", State.BAD, "1 is missing.", "Apply the role."),
)


def furnish(made: Seed) -> User:
    """What the seed has not: Ada, as platform staff too, with a key, a token, an invitation and a recording of hers, Mo
    as a login user, and a region that was checked. Ada. May be run twice."""
    ada, team = made.users["ada"], made.team
    for earlier in (ada.ssh_keys, ada.recordings, ada.invitations, ada.api_tokens):
        earlier.all().delete()
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    PersonalKey.objects.create(user=ada, type="ssh-ed25519", bits=256, fingerprint="SHA256:x", line=KEY)
    Recording.objects.create(team=team, name="one", cluster="llama-pretrain", who="ada", user=ada)
    ends = timezone.now() + timedelta(days=1)
    Invitation.objects.create(team=team, by=ada, role="member", digest="0" * 64, expires_at=ends)
    make_token(ada, "nightly training")
    Region.objects.filter(slug="lab").update(readiness=as_stored(FOUND), readiness_at=timezone.now())
    revision = made.cluster.revision
    assert revision is not None, "the seed's cluster runs"
    logins = Logins(on=True, users=(LoginUser("mo", 20_001, groups=("ml",)),))
    revision.spec = to_json(replace(revision.parsed, logins=logins))
    revision.save()
    return User.objects.get(pk=ada.pk)


def every_page() -> list[str]:
    """Of every route, less the API's and files: some are no page, and some ask for more than their address."""
    found = []
    for path, _ in own_routes():
        if path.startswith("api/") or path.endswith(("/file/", "/cast/", "<str:document>")):
            continue
        path = path.replace("partitions/<str:name>", "partitions/debug")
        for word, value in VALUES.items():
            path = path.replace(word, value)
        assert "<" not in path, f"{path}: what stands for its parameter? Add it to VALUES"
        found.append(f"/{path}")
    return found


def pages_shown_to(client: Client) -> list[str]:
    """Those of `every_page` that answer with a page of their own. In a thread: some views run an event loop, and so
    does Playwright in the tests' own."""

    def shown() -> list[str]:
        try:
            answers = [(path, client.get(path)) for path in every_page()]
        finally:
            connections.close_all()
        return [path for path, answer in answers if answer.status_code == 200 and _is_page(answer)]

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(shown).result(300)


def _is_page(answer: HttpResponse) -> bool:
    """And no fragment, which is looked at where a page shows it."""
    return answer.headers["Content-Type"].startswith("text/html") and b"<html" in answer.content
