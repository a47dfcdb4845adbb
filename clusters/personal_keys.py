"""The public keys of a person: added and removed in their profile, live on every login node where they have a login.

Each act is the person's own and is recorded. The clusters are changed at once where nothing else is on its way there,
else by `clusters.follow` when it has ended.
"""

from contextlib import suppress

from django.db import IntegrityError, transaction

from clusters import follow
from clusters.lifecycle import Status
from clusters.login_rules import MOST_KEYS
from clusters.models import Cluster, PersonalKey
from clusters.sshkeys import KeyRefused, parse_key
from console import events
from console.errors import ConsoleError, Missing, Problem, Rejected
from console.models import User

ADD, REMOVE = "key.add", "key.remove"


def add(user: User, line: str) -> PersonalKey:
    """Raises Rejected at `line`: a weak or damaged key, a private one, or one that somebody has already."""
    line = line.strip()
    try:
        key = parse_key(line)
        with transaction.atomic():
            # One at a time: no two see room for the same last one.
            User.objects.select_for_update().get(pk=user.pk)
            if user.ssh_keys.count() >= MOST_KEYS:
                raise KeyRefused(
                    f"You have {MOST_KEYS} keys, which is the most. Remove one that you no longer use."
                )
            made = PersonalKey.objects.create(
                user=user,
                line=" ".join(line.split()),
                type=key.type,
                bits=key.bits,
                comment=key.comment[:200],
                fingerprint=key.fingerprint,
            )
            events.record(ADD, by=user, target=key.fingerprint, detail={"type": key.type, "bits": key.bits})
    except KeyRefused as refused:
        raise _refused(user, str(refused)) from refused
    except IntegrityError as twice:
        mine = user.ssh_keys.filter(fingerprint=key.fingerprint).exists()
        why = "You have this key already." if mine else "This key is another person's: each has their own."
        raise _refused(user, why) from twice
    follow_person(user)
    return made


def remove(user: User, number: int) -> None:
    """Raises Missing."""
    with transaction.atomic():
        key = key_of(user, number)
        key.delete()
        events.record(REMOVE, by=user, target=key.fingerprint, detail={"type": key.type, "bits": key.bits})
    follow_person(user)


def key_of(user: User, number: int) -> PersonalKey:
    """One of the person's own, by primary key. Raises Missing."""
    found = user.ssh_keys.filter(pk=number).first()
    if found is None:
        raise Missing("You have no such key.", "It may be removed already.")
    return found


def clusters_of(user: User) -> list[Cluster]:
    """Those that run and where the person has a login."""
    rows = Cluster.objects.filter(status=Status.RUNNING, team__identities__user=user)
    found = rows.filter(revision__spec__logins__on=True).select_related("team", "region", "revision")
    names = dict(user.identities.values_list("team_id", "name"))
    return [cluster for cluster in found if cluster.spec.logins.user(names[cluster.team_id])]


def follow_person(user: User) -> None:
    """Change the clusters where this person's keys are not those of their profile any more."""
    for cluster in clusters_of(user):
        with suppress(ConsoleError):
            follow.follow(cluster)


def _refused(user: User, why: str) -> Rejected:
    events.record(ADD, by=user, outcome="refused", detail={"error": why})
    return Rejected("The key was not added.", (Problem("line", why),))
