"""slurm.conf and partitions as scripts meet them: desired state out, changes in, problems by field and line."""

import json
from typing import Any

import pytest
from django.test import Client

from clusters.models import Change, Cluster
from console.models import User
from console.tokens import make_token
from slurm.configuration import read
from tests.cast import Cast, person, the_cast, tiny_cluster, tiny_spec
from tests.slurm.job_rows import make_job

pytestmark = pytest.mark.django_db
PROBLEM = "application/problem+json"
CLUSTER = "/api/v1/teams/research/clusters/tiny"
CONF, CHECK, PARTITIONS = f"{CLUSTER}/slurm-conf", f"{CLUSTER}/slurm-conf/check", f"{CLUSTER}/partitions"
MINE = "# ours\nKillWait=30\n"
TRAIN = {"base": 1, "name": "train", "nodes": "slinky-[0-1]", "max_time_minutes": "1-00:00:00"}


class Script:
    """A client that holds one person's token."""

    def __init__(self, user: User) -> None:
        self.client = Client(headers={"authorization": f"Bearer {make_token(user, 'test')}"})

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return self.client.generic(method, path, json.dumps(body or {}), content_type="application/json")


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team, spec=tiny_spec(slurm_conf=MINE))


@pytest.fixture
def ada(cluster: Cluster) -> Script:
    return Script(person("ada"))


# slurm.conf


def test_the_file_is_read_with_its_block(ada: Script, cluster: Cluster) -> None:
    body = ada.ask("GET", CONF).json()
    assert body["settings"] == MINE and body["revision"] == 1 and body["drift"] == ""
    assert body["text"].split("\n")[body["first_line"] - 1 : body["last_line"]] == MINE.splitlines()


@pytest.mark.parametrize("part", ["settings", "text"])
def test_either_the_block_or_the_file_is_put(ada: Script, cluster: Cluster, part: str) -> None:
    text = "KillWait=31\n" if part == "settings" else read(cluster).with_settings("KillWait=31\n")
    answer = ada.ask("PUT", CONF, {"base": 1, part: text})
    assert answer.status_code == 202 and answer.json()["status"] == "proposed"
    revision = Change.objects.get().revision
    assert revision and revision.parsed.slurm_conf == "KillWait=31\n"


def test_problems_count_lines_in_what_was_sent(ada: Script, cluster: Cluster) -> None:
    block = ada.ask("PUT", CONF, {"base": 1, "settings": "# ours\nFooBar=1\n"})
    whole = ada.ask("PUT", CONF, {"base": 1, "text": read(cluster).with_settings("# ours\nFooBar=1\n")})
    for answer, line in ((block, 2), (whole, read(cluster).first_line + 1)):
        assert answer.status_code == 422 and answer.headers["Content-Type"] == PROBLEM
        (error,) = answer.json()["errors"]
        assert (error["path"], error["line"]) == ("slurm_conf", line)
        assert error["message"].startswith(f"Line {line}: FooBar")
    assert not cluster.changes.exists()


def test_put_needs_its_base_and_one_text(ada: Script, cluster: Cluster) -> None:
    for body in ({"settings": "A=1\n"}, {"base": 1}, {"base": 1, "settings": "", "text": ""}):
        assert ada.ask("PUT", CONF, body).status_code == 400
    assert ada.ask("PUT", CONF, {"base": 9, "settings": "KillWait=31\n"}).status_code == 409


def test_check_reports_costs_and_touches_nothing(ada: Script, cluster: Cluster) -> None:
    body = ada.ask("POST", CHECK, {"settings": "# ours\nKillWait=31\n"}).json()
    assert (body["refused"], body["cost"], body["base"]) == (False, "reconfigure", 1)
    assert [(line["key"], line["old"], line["new"]) for line in body["lines"]] == [
        ("KillWait", "KillWait=30", "KillWait=31")
    ]
    assert not cluster.changes.exists()


def test_check_names_the_misspelt_key(ada: Script) -> None:
    body = ada.ask("POST", CHECK, {"settings": "PreempMode=OFF\n", "shadow": False}).json()
    assert body["refused"] and body["problems"][0]["line"] == 1
    assert body["problems"][0]["hint"] == "Did you mean PreemptMode?"


# Partitions


def test_all_partitions_are_listed_own_ones_last(ada: Script, cluster: Cluster) -> None:
    make_job(cluster, 1, partition="debug")
    rows = ada.ask("GET", PARTITIONS).json()["results"]
    assert [(row["name"], row["own"]) for row in rows] == [
        ("all", False),
        ("slinky", False),
        ("cpu-workers", False),
        ("debug", True),
    ]
    debug = rows[-1]
    assert (debug["node_names"], debug["gpus"], debug["waiting"], debug["max_time_minutes"]) == (
        ["slinky-0"],
        8,
        1,
        60,
    )
    assert debug["line"] == "PartitionName=debug Nodes=slinky-0 MaxTime=60 State=UP" and debug["seen"] is None


def test_a_partition_is_added_changed_and_deleted_by_changes(ada: Script, cluster: Cluster) -> None:
    assert ada.ask("POST", PARTITIONS, TRAIN).status_code == 202
    _commit(cluster)
    assert ada.ask("GET", f"{PARTITIONS}/train").json()["max_time_minutes"] == 1440
    put = ada.ask("PUT", f"{PARTITIONS}/train", {"base": 2, "nodes": "ALL", "allow_accounts": ["ml"]})
    assert put.status_code == 202
    _commit(cluster)
    train = ada.ask("GET", f"{PARTITIONS}/train").json()
    assert (train["nodes"], train["max_time_minutes"], train["allow_accounts"]) == ("ALL", None, ["ml"])
    assert ada.ask("DELETE", f"{PARTITIONS}/train?base=3").status_code == 202
    _commit(cluster)
    assert ada.ask("GET", f"{PARTITIONS}/train").status_code == 404


@pytest.mark.parametrize(
    ("fields", "path", "status"),
    [
        ({"nodes": "ghost-[0-3]"}, "nodes", 422),
        ({"name": "DEFAULT"}, "name", 422),
        ({"name": "debug"}, "name", 422),
        ({"qos": "a b"}, "qos", 422),
        ({"oversubscribe": "MAYBE"}, "oversubscribe", 422),
        ({"max_time_minutes": "banana"}, "max_time_minutes", 400),
        ({"max_time_minutes": True}, "max_time_minutes", 400),
        ({"state": "FOO"}, "state", 400),
        ({"allow_groups": ["a,b"]}, "allow_groups", 422),
    ],
)
def test_what_is_wrong_is_said_by_field(
    ada: Script, cluster: Cluster, fields: dict[str, object], path: str, status: int
) -> None:
    answer = ada.ask("POST", PARTITIONS, {**TRAIN, **fields})
    assert answer.status_code == status and answer.headers["Content-Type"] == PROBLEM
    assert [error["path"] for error in answer.json()["errors"]] == [path]
    assert not cluster.changes.exists()


def test_the_platforms_partitions_are_refused_with_the_reason(ada: Script) -> None:
    answer = ada.ask("PUT", f"{PARTITIONS}/all", {"base": 1, "nodes": "slinky-0"})
    assert answer.status_code == 409 and "Every cluster has it" in answer.json()["hint"]
    assert ada.ask("DELETE", f"{PARTITIONS}/slinky?base=1").status_code == 409


def test_deleting_needs_its_base(ada: Script) -> None:
    assert ada.ask("DELETE", f"{PARTITIONS}/debug").status_code == 422


@pytest.mark.parametrize("who", ["cy", "mo", "ben"])
def test_who_may_not_change_may_still_read(cluster: Cluster, who: str) -> None:
    script = Script(person(who))
    assert script.ask("GET", CONF).status_code == 200 and script.ask("GET", PARTITIONS).status_code == 200
    assert script.ask("PUT", CONF, {"base": 1, "settings": "KillWait=31\n"}).status_code == 403
    assert script.ask("POST", CHECK, {"settings": "KillWait=31\n"}).status_code == 403
    assert script.ask("POST", PARTITIONS, TRAIN).status_code == 403
    assert script.ask("DELETE", f"{PARTITIONS}/debug?base=1").status_code == 403


def test_the_schema_has_examples_of_them(ada: Script) -> None:
    schema = ada.client.get("/api/schema/?format=json").json()
    for path, method in ((CONF, "put"), (CHECK, "post"), (PARTITIONS, "post"), (f"{PARTITIONS}/x", "put")):
        known = path.replace("/research/", "/{team}/").replace("/tiny", "/{cluster}").replace("/x", "/{name}")
        body = schema["paths"][known][method]["requestBody"]["content"]["application/json"]
        assert body["examples"], known


def _commit(cluster: Cluster) -> None:
    change = cluster.changes.order_by("-number").first()
    assert change
    Change.objects.filter(pk=change.pk).update(status="committed")
    Cluster.objects.filter(pk=cluster.pk).update(revision=change.revision)
