"""Whether people may still have the terminals that no page looks at: the worker's question to the one door."""

import asyncio
import logging
from collections.abc import Mapping, Set

from django.db import DatabaseError, close_old_connections

from clusters.access import cluster_for
from clusters.models import Cluster
from console.errors import ConsoleError
from console.models import User
from console.provider_factor import mark_absent
from console.roles import Action
from slurm.terminal.opening import why_not_as
from slurm.terminal.session import Owner

log = logging.getLogger(__name__)


class DatabaseRights:
    """Asks in a thread. With the database away nobody is found to have lost anything: the idle limit still holds."""

    async def lost(self, owners: Set[Owner]) -> Mapping[Owner, str]:
        try:
            return await asyncio.to_thread(_lost, owners)
        except DatabaseError as error:
            log.warning("rights to terminals were not asked: %s", error)
            return {}


def _lost(owners: Set[Owner]) -> dict[Owner, str]:
    close_old_connections()
    try:
        return {owner: why for owner in owners if (why := _why_not(owner))}
    finally:
        close_old_connections()


def _why_not(owner: Owner) -> str:
    """A sentence; empty when the person may."""
    user = User.objects.filter(pk=owner.user, is_active=True).first()
    cluster = Cluster.objects.select_related("team").filter(key=owner.cluster).first()
    if user is None or cluster is None:
        return "The account or the cluster is no more."
    mark_absent(user)
    try:
        door = cluster_for(user, cluster.team.slug, cluster.slug, Action.TERMINAL)
    except ConsoleError as error:
        return error.message
    return why_not_as(door, owner.login)
