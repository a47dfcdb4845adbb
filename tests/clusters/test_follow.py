"""Clusters follow their people whatever else is wrong: what was taken back has to go from every login node."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest
from django.db import connections

from clusters import changes, follow, personal_keys
from clusters.login_rules import MOST_KEYS
from clusters.models import Cluster
from console.errors import Problem, Rejected
from console.models import User
from tests.cast import Cast, tiny_cluster
from tests.clusters.keys import ED25519, key_line
from tests.clusters.test_logins import added, cast, cluster, commit, door

__all__ = ["cast", "cluster"]
pytestmark = pytest.mark.django_db


def test_a_region_that_takes_fewer_nodes_by_now_keeps_no_key_where_it_was(
    cluster: Cluster, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    personal_keys.add(cast.mo.user, ED25519)
    added(cluster, cast, "mo")
    wrong = Problem("groups[0].count", "The region takes fewer nodes.")
    monkeypatch.setattr(changes, "inventory_problems", lambda *about: [wrong])
    at = door(cluster, cast.ada)
    with pytest.raises(Rejected):
        changes.propose(at.cluster, at.cluster.spec.with_slurm_conf("MaxJobCount=5"), base=3, by=cast.ada)
    personal_keys.remove(cast.mo.user, cast.mo.user.ssh_keys.get().pk)
    assert commit(cluster.changes.latest("number")).spec.logins.users[0].keys == ()


def test_a_cluster_that_cannot_follow_holds_up_no_other(
    cluster: Cluster, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Cluster] = []

    def fail(one: Cluster) -> None:
        asked.append(one)
        raise Rejected("It cannot be made so.")

    found = added(cluster, cast, "mo")
    other = tiny_cluster(cast.team, spec=replace(found.spec, name="other"))
    cast.mo.delete()
    monkeypatch.setattr(follow, "follow", fail)
    follow.follow_all()
    assert {one.slug for one in asked} == {cluster.slug, other.slug}


@pytest.mark.django_db(transaction=True)
def test_keys_added_at_once_are_no_more_than_one_may_have() -> None:
    mo = User.objects.create(username="mo")
    lines = [key_line("ssh-ed25519", os.urandom(32)) for _ in range(MOST_KEYS + 6)]
    for line in lines[: MOST_KEYS - 1]:
        personal_keys.add(mo, line)

    def add(line: str) -> None:
        try:
            with suppress(Rejected):
                personal_keys.add(mo, line)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(7) as pool:
        list(pool.map(add, lines[MOST_KEYS - 1 :]))
    assert mo.ssh_keys.count() == MOST_KEYS
