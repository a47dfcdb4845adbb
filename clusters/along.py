"""Who signs in is not held up by a change that waits.

A scale-in or a rolling restart may wait for days, and so may a question; logins and keys that were taken back have to
go within seconds. So a change that waits takes them along: the revision that it started from and the one that it leads
to are written anew with them, and whoever works on it next brings the first of them to the cluster before anything else
(`clusters.effects`). Until that is done the cluster's revision stays the old one: nothing is said to be gone that is
not. For `clusters.changes` and `clusters.follow`.
"""

import secrets
from dataclasses import replace

from clusters.diff import diff, sentence
from clusters.machine import ChangeStatus, Kind
from clusters.models import Change, Cluster
from clusters.opening import revise, tell
from clusters.spec import ClusterSpec
from console.models import Membership

KINDS = (Kind.EDIT, Kind.RECONFIGURE, Kind.RESTART)


def take_along(cluster: Cluster, after: ClusterSpec, *, by: Membership | None) -> Change | None:
    """Have the change that waits bring `after`, where that differs from what is current in who signs in alone; None
    where no change waits or it is about more. In the transaction that has the cluster locked.

    Whoever looks at the change just now loses it at the next write: a wait writes nothing to the cluster.
    """
    current = cluster.revision
    live = _waiting(cluster)
    if live is None or current is None or not is_about_people(current.parsed, after):
        return None
    before = current.parsed
    leads_to = _led_to(live, before, after)
    if leads_to is None:
        return None
    live.base = revise(cluster, after, by.user if by else None)
    if live.revision is not None:
        live.revision = revise(cluster, leads_to, by.user if by else None)
    if live.status == ChangeStatus.OBSERVING:
        live.status = ChangeStatus.APPLYING
    live.takes_along, live.lease_token, live.lease_until = True, secrets.token_hex(16), None
    live.save(update_fields=["base", "revision", "status", "takes_along", "lease_token", "lease_until"])
    who = f"{by.user.username} asked meanwhile" if by else "To follow what people changed meanwhile"
    live.lines.create(text=f"{who}: {sentence(diff(before, after))}. It comes at once.")
    tell(live, "change.logins", by)
    return live


def is_about_people(before: ClusterSpec, after: ClusterSpec) -> bool:
    """Whether nothing differs but login users, their groups and keys, and the cluster's own keys."""
    theirs = after.logins
    logins = replace(before.logins, users=theirs.users, groups=theirs.groups, leavers=theirs.leavers)
    return with_people(before, replace(after, logins=logins)) == after


def with_people(spec: ClusterSpec, like: ClusterSpec) -> ClusterSpec:
    """`spec` with those who sign in to `like`."""
    return replace(spec, logins=like.logins, ssh_keys=like.ssh_keys)


def _waiting(cluster: Cluster) -> Change | None:
    """The live change, locked, if it waits and is not about to take others along or to go back. One that a worker
    writes just now is as good as none: whoever asks again in some seconds finds it at rest."""
    rows = Change.objects.select_for_update(of=("self",), skip_locked=True).select_related(
        "base", "revision", "cluster__team"
    )
    resting = rows.filter(cluster=cluster, kind__in=KINDS, time_left__isnull=False, takes_along=False)
    on_its_way = resting.filter(
        status__in=(ChangeStatus.ASKING, ChangeStatus.APPLYING, ChangeStatus.OBSERVING), cancelled_by=None
    )
    return (on_its_way | resting.filter(status=ChangeStatus.ROLLING_BACK)).first()


def _led_to(live: Change, before: ClusterSpec, after: ClusterSpec) -> ClusterSpec | None:
    """Where the change leads with `after`'s people; None if it changes login users itself."""
    if live.revision is None:
        return after
    target = live.revision.parsed
    if target.logins != before.logins:
        return None
    gone = set(before.ssh_keys) - set(after.ssh_keys)
    kept = tuple(key for key in target.ssh_keys if key not in gone)
    fresh = tuple(key for key in after.ssh_keys if key not in (*before.ssh_keys, *kept))
    return replace(target, logins=after.logins, ssh_keys=(*kept, *fresh))
