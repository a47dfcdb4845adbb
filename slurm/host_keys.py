"""A login node that shows another host key than the platform's: what was seen of it, and an admin's way out.

The platform says which key a login node must show, and every dial is held to that. A key that was seen instead is kept
here, changes nothing by itself, and counts once an admin has compared and accepted it; for as long only as the
platform's own word stays the same.
"""

import base64
import binascii
import hashlib
from dataclasses import replace

from django.utils import timezone

from clusters.access import Door
from clusters.models import Cluster
from clusters.provisioner import LoginEndpoint
from console import events
from console.errors import Conflict
from slurm.models import HostKey


def fingerprint(key: str) -> str:
    """Of a public key as OpenSSH writes it: `SHA256:...`, as ssh-keygen(1) shows it; `unreadable` for another text."""
    try:
        blob = base64.b64decode(key.split()[1], validate=True)
    except (IndexError, ValueError, binascii.Error):
        return "unreadable"
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def trusted(cluster: Cluster, endpoint: LoginEndpoint) -> LoginEndpoint:
    """With the key that an admin accepted in place of this very one of the platform's, if one did. One query."""
    seen = HostKey.objects.filter(cluster=cluster, pinned=endpoint.host_key).exclude(accepted_at=None).first()
    return replace(endpoint, host_key=seen.presented) if seen else endpoint


def note(cluster: Cluster, presented: str) -> None:
    """A login node showed this key, and was refused. Asks the platform. Raises Unavailable."""
    pinned = cluster.provisioner.login().host_key
    same = HostKey.objects.filter(cluster=cluster, pinned=pinned, presented=presented)
    if same.update(seen_at=timezone.now()):
        return
    facts = {"pinned": pinned, "presented": presented, "accepted_by": None, "accepted_at": None}
    HostKey.objects.update_or_create(cluster=cluster, defaults={**facts, "seen_at": timezone.now()})


def waiting(cluster: Cluster) -> HostKey | None:
    """The key that was seen last and that nobody has accepted."""
    return HostKey.objects.filter(cluster=cluster, accepted_at=None).first()


def accept(door: Door, shown: str) -> None:
    """Trust the key of this fingerprint from now on. Raises Conflict when another was seen meanwhile."""
    seen = waiting(door.cluster)
    if seen is None or fingerprint(seen.presented) != shown:
        raise Conflict(
            "Another key was seen meanwhile, or somebody has decided already: nothing was accepted.",
            "Compare the keys again.",
        )
    by = door.membership.user
    changed = HostKey.objects.filter(pk=seen.pk, presented=seen.presented, accepted_at=None)
    changed.update(accepted_by=by, accepted_at=timezone.now())
    detail = {"from": fingerprint(seen.pinned), "to": shown}
    events.record(
        "host-key.accept", by=by, team=door.membership.team, cluster=door.cluster.slug, detail=detail
    )
