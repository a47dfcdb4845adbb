"""One look at a cluster: what is written, what is pushed, what is started again, and what an unchanged look costs."""

import re
from dataclasses import replace
from datetime import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters import changes, rows, watch
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster, Node
from clusters.observation import Observation
from clusters.watch import NotOurs, Shown, watch_once
from console import live
from console.errors import Unavailable
from console.models import Event
from tests.cast import big_cluster, fake, tiny_spec
from tests.yardstick import in_yardsticks

TOKEN = "held-by-this-test"


@pytest.fixture
def pushed(monkeypatch) -> list[dict]:
    messages: list[dict] = []
    monkeypatch.setattr(live, "_send", lambda topic, message: messages.append({"topic": topic, **message}))
    return messages


@pytest.fixture
def look(pushed, django_capture_on_commit_callbacks):
    """Look once, as the watcher does, and give the one message that came of it."""

    def look(cluster: Cluster) -> dict:
        Cluster.objects.filter(pk=cluster.pk).update(watch_token=TOKEN)
        held = Cluster.objects.select_related("team", "region").get(pk=cluster.pk)
        pushed.clear()
        with django_capture_on_commit_callbacks(execute=True):
            watch_once(held)
        cluster.refresh_from_db()
        (message,) = pushed
        return message

    return look


def ids(message: dict) -> list[str]:
    return [fragment["id"] for fragment in message["fragments"]]


def drain(cluster: Cluster, node: str, reason: str = "bad fan") -> None:
    world = fake(cluster).world
    world.drained[node] = reason
    fake(cluster).save(world)


def test_the_first_look_writes_every_node_and_partition(cluster, look):
    look(cluster)
    assert [(n.name, n.machine, n.state) for n in cluster.nodes.all()] == [
        ("slinky-0", "machine_slinky-0", "idle"),
        ("slinky-1", "machine_slinky-1", "idle"),
        ("cpu-workers-0", "machine_cpu-workers-0", "idle"),
    ]
    assert cluster.nodes.get(name="cpu-workers-0").ordinal == 0
    assert set(cluster.observed_partitions.values_list("name", flat=True)) == {
        "all",
        "slinky",
        "cpu-workers",
        "debug",
    }
    assert [part["name"] for part in cluster.parts][:2] == ["accounting", "controller"]


def test_a_changed_node_alone_is_written_and_pushed(cluster, look):
    look(cluster)
    drain(cluster, "slinky-1")
    message = look(cluster)
    node = cluster.nodes.get(name="slinky-1")
    assert (node.state, node.health, node.reason) == ("drained", "draining", "bad fan")
    assert ids(message) == [f"node-{node.pk}", f"gpus-{node.pk}", f"overview-{cluster.key}"]


def test_a_machine_may_say_much_about_itself_and_have_a_long_name(cluster, look):
    """As Kubernetes does: a node's name has up to 253 characters, a pod's trouble is a sentence."""
    seen = cluster.provisioner.observe()
    trouble = "Pod Pending: " + "no machine takes it: " * 20
    first, *others = seen.nodes
    told = replace(first, machine="m" * 253, machine_state=trouble)
    watch.hand_over(cluster, replace(seen, nodes=(told, *others)))
    row = cluster.nodes.get(name=first.name)
    assert (row.machine, row.machine_state) == ("m" * 253, trouble)


def test_a_fragment_is_rooted_at_the_id_it_says(cluster, look):
    look(cluster)
    drain(cluster, "slinky-1")
    for fragment in look(cluster)["fragments"]:
        assert re.match(rf"<\w+[^>]* id=\"{fragment['id']}\"", fragment["html"].strip())


def test_an_unchanged_look_is_a_heartbeat_and_nothing_else(cluster, look):
    look(cluster)
    message = look(cluster)
    assert (message["fragments"], message["refresh"], message["problem"]) == ([], [], "")
    assert datetime.fromisoformat(message["at"]) == cluster.observed_at


def test_an_unchanged_look_writes_one_row_and_reads_none_of_the_nodes(cluster, look):
    look(cluster)
    held = Cluster.objects.select_related("team", "region").get(pk=cluster.pk)
    with CaptureQueriesContext(connection) as queries:
        watch_once(held)
    statements = [q["sql"] for q in queries if not q["sql"].startswith(("SAVEPOINT", "RELEASE"))]
    assert len(statements) == 1
    assert statements[0].startswith('UPDATE "clusters_cluster"')


def test_nodes_that_come_and_go_are_rows_that_come_and_go(cluster, look):
    look(cluster)
    fake(cluster).apply(tiny_spec(nodes=4, cpu_nodes=0), lambda text: None)
    message = look(cluster)
    assert set(cluster.nodes.values_list("name", flat=True)) == {f"slinky-{n}" for n in range(4)}
    assert {"nodes", "cluster", "partitions"} <= set(message["refresh"])


def test_a_cluster_that_cannot_be_read_keeps_its_last_known_state(cluster, look):
    look(cluster)
    at = cluster.observed_at
    fake(cluster).kill("controller")
    cluster.enter(Status.FAILED)
    message = look(cluster)
    assert cluster.nodes.count() == 3
    assert cluster.observed_at == at
    assert cluster.tried_at > at
    assert message["problem"] == cluster.observed_problem == "The controller does not answer."
    assert message["at"] == at.isoformat()


def test_a_problem_goes_away_by_itself(cluster, look):
    fake(cluster).kill("controller")
    look(cluster)
    assert look(cluster)["problem"] == cluster.observed_problem == ""


def test_a_dead_part_of_a_running_cluster_is_started_again(cluster, look):
    fake(cluster).kill("slinky-1")
    look(cluster)
    assert cluster.nodes.get(name="slinky-1").state == "down"
    look(cluster)
    assert cluster.nodes.get(name="slinky-1").state == "idle"
    assert Event.objects.get(verb="part.revived").target == "Started slinky-1 again."


def test_nothing_is_asked_to_revive_while_all_is_up(cluster, look, monkeypatch):
    monkeypatch.setattr(type(fake(cluster)), "revive", lambda self: pytest.fail("asked"))
    look(cluster)


def test_a_part_that_came_back_between_two_looks_is_told_all_the_same(cluster, look, monkeypatch):
    look(cluster)
    kind = type(fake(cluster))
    whole = kind.observe

    def restarted(self):
        seen = whole(self)
        return replace(seen, parts=tuple(replace(part, restarts=1) for part in seen.parts))

    monkeypatch.setattr(kind, "observe", restarted)
    monkeypatch.setattr(kind, "revive", lambda self: ("slurmctld ended and was started again.",))
    look(cluster)
    look(cluster)
    assert Event.objects.get(verb="part.revived").target.startswith("slurmctld ended")


@pytest.mark.parametrize(
    ("status", "revived"),
    [
        (Status.RUNNING, True),
        (Status.CREATING, False),
        (Status.FAILED, False),
        (Status.TERMINATING, False),
    ],
)
def test_only_a_running_cluster_is_revived(cluster, look, status, revived):
    cluster.enter(status)
    fake(cluster).kill("slinky-1")
    look(cluster)
    assert (fake(cluster).world.down == []) == revived


@pytest.mark.parametrize("status", [ChangeStatus.APPLYING, ChangeStatus.OBSERVING, ChangeStatus.ROLLING_BACK])
def test_a_cluster_that_is_being_changed_is_left_to_its_worker(cluster, cast, look, status):
    spec = cluster.spec.with_slurm_conf("# x")
    changes.propose(cluster, spec, base=1, by=cast.ada)
    Change.objects.update(status=status)
    fake(cluster).kill("slinky-1")
    look(cluster)
    assert fake(cluster).world.down == ["slinky-1"]


def test_a_creating_cluster_is_revived_once_everything_is_applied(cluster, cast, look):
    cluster.enter(Status.CREATING)
    cluster.changes.create(number=1, kind="create", status=ChangeStatus.OBSERVING, summary="Create tiny")
    fake(cluster).kill("slinky-1")
    look(cluster)
    assert fake(cluster).world.down == []


def test_a_revival_that_cannot_be_is_no_reason_not_to_look(cluster, look, monkeypatch):
    def away(self):
        raise Unavailable("No port is free.")

    monkeypatch.setattr(type(fake(cluster)), "revive", away)
    fake(cluster).kill("slinky-1")
    look(cluster)
    assert cluster.nodes.get(name="slinky-1").state == "down"


def test_a_node_that_goes_down_and_comes_back_is_in_the_audit_trail(cluster, look):
    look(cluster)
    fake(cluster).kill("slinky-1")
    look(cluster)
    look(cluster)
    verbs = [e.verb for e in Event.objects.order_by("pk") if e.verb.startswith("node.")]
    assert verbs == ["node.down", "node.up"]


def test_who_no_longer_holds_the_cluster_writes_nothing(cluster, look):
    look(cluster)
    drain(cluster, "slinky-1")
    held = Cluster.objects.select_related("team", "region").get(pk=cluster.pk)
    Cluster.objects.filter(pk=cluster.pk).update(watch_token="another")
    with pytest.raises(NotOurs):
        watch_once(held)
    assert cluster.nodes.get(name="slinky-1").state == "idle"


def test_an_ended_cluster_is_not_written_by_a_late_look(cluster, look, cast, carry):
    look(cluster)
    held = Cluster.objects.select_related("team", "region").get(pk=cluster.pk)
    seen = fake(cluster).observe()
    carry(changes.terminate(cluster, by=cast.ada))
    with pytest.raises(NotOurs):
        watch.hand_over(held, seen, token=TOKEN)
    assert not cluster.nodes.exists()


def test_what_another_hold_wrote_is_read_again(cluster, look):
    look(cluster)
    cluster.nodes.filter(name="slinky-0").update(state="as another watcher left it")
    Cluster.objects.filter(pk=cluster.pk).update(watch_token="a new hold")
    watch_once(Cluster.objects.select_related("team", "region").get(pk=cluster.pk))
    assert cluster.nodes.get(name="slinky-0").state == "idle"


def test_a_failed_recorder_undoes_the_look_and_the_memory_of_it(cluster, look, settings, monkeypatch):
    look(cluster)
    drain(cluster, "slinky-1")

    def fails(cluster: Cluster, seen: Observation) -> Shown:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(watch, "recorders", lambda: (watch.record, fails))
        with pytest.raises(ZeroDivisionError):
            look(cluster)
    assert cluster.nodes.get(name="slinky-1").state == "idle"
    look(cluster)
    assert cluster.nodes.get(name="slinky-1").state == "drained"


def test_fragments_of_every_recorder_go_out_in_one_message(cluster, look, monkeypatch):
    def jobs(cluster: Cluster, seen: Observation) -> Shown:
        return Shown((live.Fragment("job-1", "<tr id='job-1'>"),), ("jobs",))

    monkeypatch.setattr(watch, "recorders", lambda: (watch.record, jobs))
    message = look(cluster)
    assert "job-1" in ids(message)
    assert "jobs" in message["refresh"]


def test_when_nearly_everything_changes_pages_fetch_it_instead(cast, look):
    cluster = big_cluster(cast.team, 300)
    look(cluster)
    world = fake(cluster).world
    world.drained = {f"slinky-{n}": "maintenance" for n in range(300)}
    message = look(cluster)
    assert "nodes" in message["refresh"]
    assert not any(name.startswith("node-") for name in ids(message))
    assert Node.objects.filter(state="drained").count() == 300


def test_a_thousand_flips_make_a_bounded_number_of_events(cast, look):
    cluster = big_cluster(cast.team, 100)
    cluster.enter(Status.FAILED)
    look(cluster)
    for n in range(100):
        fake(cluster).kill(f"slinky-{n}")
    look(cluster)
    assert Event.objects.filter(verb="node.down").count() == watch.MOST_EVENTS
    assert Event.objects.get(verb="nodes.changed").target == "and 80 more nodes"


def test_drift_is_kept_until_it_is_known_to_be_gone(cluster, look, monkeypatch):
    seen = fake(cluster).observe()
    for drift, kept in (("-A\n+B", "-A\n+B"), (None, "-A\n+B"), ("", "")):
        monkeypatch.setattr(
            type(fake(cluster)), "observe", lambda self, drift=drift: replace(seen, drift=drift)
        )
        look(cluster)
        assert cluster.observed_drift == kept


def test_an_unchanged_look_at_five_thousand_nodes_is_cheap(cluster, cast, look, monkeypatch):
    """The comparison alone: decoding is the adapter's. What a whole tick takes is in `make bench`."""

    base = fake(cluster).observe()
    nodes = tuple(replace(base.nodes[0], name=f"slinky-{n}", machine=f"m{n}") for n in range(5000))
    seen = replace(base, nodes=nodes)
    monkeypatch.setattr(type(fake(cluster)), "observe", lambda self: seen)
    look(cluster)
    assert in_yardsticks(lambda: look(cluster)) < 5
    assert rows._memories[cluster.pk].token == TOKEN
