"""What the overview says after a controller's start, and when its nodes are to be worried about again."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.models import Cluster
from clusters.watch import watch_once
from slurm.attention import looks_of
from tests.clusters.test_pages import words

OVERVIEW = "/t/research/c/tiny/"


@pytest.fixture
def cluster(cluster: Cluster) -> Cluster:
    watch_once(cluster)
    return cluster


def restarted(cluster: Cluster, seconds: float) -> Cluster:
    """The same with a controller that came up so long ago."""
    since = (timezone.now() - timedelta(seconds=seconds)).isoformat()
    parts = [part for part in cluster.parts if part["kind"] != "controller"]
    cluster.parts = [*parts, {"kind": "controller", "name": "", "state": "up", "since": since}]
    cluster.save()
    return cluster


def nodes_are(cluster: Cluster, state: str, health: str, reason: str = "") -> None:
    cluster.nodes.update(state=state, health=health, reason=reason)


@pytest.mark.parametrize(
    ("state", "health"), [("unknown", "unknown"), ("idle*", "down"), ("drained*", "down"), ("down", "down")]
)
def test_nodes_have_their_time_to_answer_a_new_controller(cluster: Cluster, state: str, health: str) -> None:
    nodes_are(cluster, state, health)
    (look,) = looks_of(restarted(cluster, 12))
    assert (look.about, look.tone) == ("Controller restarted", "busy")
    assert look.text.startswith("3 nodes have not answered yet.") and "eboot" not in look.text


def test_the_page_says_how_long_ago_the_controller_started(client, cast, cluster: Cluster) -> None:
    nodes_are(cluster, "unknown", "unknown")
    cluster.nodes.exclude(name="slinky-0").update(state="idle", health="ok")
    restarted(cluster, 12)
    client.force_login(cast.cy.user)
    html = words(client.get(OVERVIEW).content.decode())
    assert re.search(r"\d+ (s|min) ago ?: 1 node has not answered yet\.", html), html
    assert "Reboot it" not in html


def test_what_slurm_or_a_person_says_is_down_is_told_at_once(cluster: Cluster) -> None:
    nodes_are(cluster, "down*", "down", "Not responding")
    assert {look.tone for look in looks_of(restarted(cluster, 12))} == {"bad"}
    assert all("Reboot it" in look.text for look in looks_of(cluster))


@pytest.mark.parametrize(
    ("conf", "timeout_s"), [("", 300), ("SlurmdTimeout=60", 60), ("SlurmdTimeout=0", 300)]
)
def test_who_is_silent_for_longer_than_slurm_allows_is_looked_at(
    cluster: Cluster, conf: str, timeout_s: int
) -> None:
    cluster.revision.spec["slurm_conf"] = conf
    cluster.revision.save()
    nodes_are(cluster, "idle*", "down")
    (look,) = looks_of(restarted(cluster, timeout_s - 5))
    assert look.since
    assert len(looks_of(restarted(cluster, timeout_s + 15))) == 3


def test_a_controller_that_started_long_ago_changes_nothing(cluster: Cluster) -> None:
    nodes_are(cluster, "unknown", "unknown")
    assert all("Reboot it" in look.text for look in looks_of(restarted(cluster, 3600)))


def test_nothing_is_said_when_all_have_answered(cluster: Cluster) -> None:
    assert looks_of(restarted(cluster, 2)) == []
