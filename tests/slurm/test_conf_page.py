"""The Slurm configuration page without a browser: who may do what, what is checked, and that no text is lost."""

import json

import pytest
from django.test import Client

from clusters.changes import propose
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster
from clusters.spec import PartitionSpec
from console.errors import Problem
from slurm.configuration import read
from tests.cast import Cast, fake, the_cast, tiny_cluster, tiny_spec
from tests.slurm.pages import at, signed_in, text_of
from tests.yardstick import in_yardsticks

pytestmark = pytest.mark.django_db
MINE = "# ours\nKillWait=30\n"
HOSTILE = "</textarea><script>alert(1)</script>"


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team, spec=tiny_spec(slurm_conf=MINE))


@pytest.fixture
def client(cast: Cast) -> Client:
    return signed_in(cast.ada)


def sent(cluster: Cluster, settings: str, base: int = 1) -> dict[str, object]:
    return {"text": read(cluster).with_settings(settings), "base": base}


def committed(cluster: Cluster, change: Change) -> None:
    change.status = ChangeStatus.COMMITTED
    change.save()
    cluster.revision = change.revision
    cluster.save()


# Reading


@pytest.mark.parametrize("who", ["cy", "mo", "ben"])
def test_who_may_not_change_it_reads_it_and_learns_why(cluster: Cluster, cast: Cast, who: str) -> None:
    client = signed_in(getattr(cast, who))
    page = text_of(client.get(at(cluster, "slurm-conf")))
    assert "KillWait=30" in page and "Needs the role admin" in page and "readonly" in page
    assert 'id="conf-review"' not in page and "Review and apply</button>" in page
    for name in ("slurm-conf-check", "slurm-conf-review", "slurm-conf-apply"):
        assert client.post(at(cluster, name), sent(cluster, MINE)).status_code == 403


def test_a_stranger_finds_nothing(cluster: Cluster, cast: Cast) -> None:
    client = Client()
    client.force_login(cast.dee)
    assert client.get(at(cluster, "slurm-conf")).status_code == 404
    assert client.get(at(cluster, "slurm-conf-keys", "24.11")).status_code == 404


def test_a_terminated_cluster_is_read_only_with_the_reason(cluster: Cluster, client: Client) -> None:
    cluster.enter(Status.TERMINATED)
    page = text_of(client.get(at(cluster, "slurm-conf")))
    assert "cannot be changed; it must be Running" in page and 'id="conf-review"' not in page


def test_drift_is_shown_beside_the_revision(cluster: Cluster, client: Client) -> None:
    Cluster.objects.update(observed_drift="--- applied\n+++ controller\n-KillWait=30\n+KillWait=1")
    page = text_of(client.get(at(cluster, "slurm-conf")))
    assert "edited by hand on the controller" in page and "+KillWait=1" in page
    assert "next change of any kind overwrites that" in page


def test_the_catalogue_is_that_of_the_clusters_version(cluster: Cluster, client: Client) -> None:
    answer = client.get(at(cluster, "slurm-conf-keys", "24.11"))
    keys = {(one["line"], one["name"]): one for one in answer.json()["keys"]}
    assert keys["", "PriorityWeightAge"]["needs"] == ["PriorityType=priority/multifactor"]
    assert keys["", "ClusterName"]["locked"] and not keys["", "KillWait"]["locked"]
    assert keys["", "KillWait"]["range"] == "0 – 65533" and keys["", "KillWait"]["unit"] == "s"
    assert keys["PartitionName", "MaxTime"]["locked"]
    assert "max-age" in answer.headers["Cache-Control"] and "private" in answer.headers["Cache-Control"]
    assert client.get(at(cluster, "slurm-conf-keys", "22.05")).status_code == 404


def test_hostile_text_in_the_file_stays_text(cast: Cast) -> None:
    cluster = tiny_cluster(cast.team, spec=tiny_spec(slurm_conf=f"# {HOSTILE}\n"))
    page = signed_in(cast.ada).get(at(cluster, "slurm-conf")).content.decode()
    assert HOSTILE not in page
    original = page.split('<script id="conf-original" type="application/json">')[1].split("</script>")[0]
    assert json.loads(original) == read(cluster).text


# As one types


def test_check_says_what_is_wrong_and_what_changed(cluster: Cluster, client: Client) -> None:
    answer = client.post(
        at(cluster, "slurm-conf-check"), sent(cluster, "# ours\nPreempMode=REQUEUE\n")
    ).json()
    line = read(cluster).first_line + 1
    (problem,) = answer["problems"]
    assert (problem["line"], problem["hint"], answer["refused"]) == (line, "Did you mean PreemptMode?", True)
    assert problem["message"] == "PreempMode is not a key of slurm.conf."
    assert [(mark["op"], mark["row"], mark["was"], mark["after"]) for mark in answer["lines"]] == [
        ("remove", None, "KillWait=30", line - 1),
        ("add", line, "", line - 1),
    ]
    assert "KillWait=30" in answer["diff"]


@pytest.mark.parametrize(("text", "why"), [("\n" * 500_000, "At most 20000 lines"), ("#" * 2_000_000, "KiB")])
def test_what_no_file_can_hold_is_refused_before_it_is_read(
    cluster: Cluster, client: Client, text: str, why: str
) -> None:
    def check_and_apply() -> None:
        answer = client.post(at(cluster, "slurm-conf-check"), {"text": text, "base": "1"}).json()
        assert why in answer["problems"][0]["message"] and answer["refused"] and answer["lines"] == []
        assert client.post(at(cluster, "slurm-conf-apply"), {"text": text, "base": "1"}).status_code == 422

    assert in_yardsticks(check_and_apply, tries=1) < 60
    assert not cluster.changes.exists()


def test_check_touches_nothing_and_asks_no_daemon(cluster: Cluster, client: Client) -> None:
    client.post(at(cluster, "slurm-conf-check"), sent(cluster, "KillWait=31\n"))
    assert "check" not in fake(cluster).calls and not cluster.changes.exists()


def test_hostile_text_in_a_diff_stays_text(cluster: Cluster, client: Client) -> None:
    answer = client.post(at(cluster, "slurm-conf-check"), sent(cluster, f"# {HOSTILE}\n")).json()
    assert "<script>" not in answer["diff"]


# Review and apply


def test_review_shows_the_diff_with_its_cost_and_the_button(cluster: Cluster, client: Client) -> None:
    page = text_of(client.post(at(cluster, "slurm-conf-review"), sent(cluster, "# ours\nKillWait=31\n")))
    assert "A controller started on a copy of this file." in page
    assert "KillWait is read again by a reconfigure" in page and "no job is touched" in page
    assert at(cluster, "slurm-conf-apply") in page


def test_review_of_a_bad_text_offers_no_way_to_apply_it(cluster: Cluster, client: Client) -> None:
    page = text_of(
        client.post(at(cluster, "slurm-conf-review"), sent(cluster, "SchedulerType=sched/nonsense\n"))
    )
    assert "The cluster would not take this." in page and at(cluster, "slurm-conf-apply") not in page
    assert "SchedulerType=sched/nonsense" in page


def test_what_the_shadow_finds_is_shown_at_its_line(cluster: Cluster, client: Client) -> None:
    provisioner = fake(cluster)
    provisioner.script.check.append((Problem("slurm_conf", "Can't find plugin.", line=2),))
    page = text_of(client.post(at(cluster, "slurm-conf-review"), sent(cluster, "# ours\nKillWait=31\n")))
    assert f'data-go-line="{read(cluster).first_line + 1}"' in page and "Can&#x27;t find plugin." in page


def test_apply_asks_for_the_change_and_leads_to_it(cluster: Cluster, client: Client) -> None:
    answer = client.post(at(cluster, "slurm-conf-apply"), sent(cluster, "KillWait=31\n"))
    assert answer.status_code == 302 and answer.headers["Location"] == at(cluster, "change", 1)
    revision = Change.objects.get().revision
    assert revision and revision.parsed.slurm_conf == "KillWait=31\n"


def test_apply_of_a_bad_text_changes_nothing_and_keeps_it(cluster: Cluster, client: Client) -> None:
    answer = client.post(at(cluster, "slurm-conf-apply"), sent(cluster, "FooBar=1\n"))
    assert answer.status_code == 422 and "FooBar=1" in text_of(answer) and not cluster.changes.exists()


def test_a_stale_base_shows_both_diffs_and_keeps_the_text(
    cluster: Cluster, client: Client, cast: Cast
) -> None:
    mine = sent(cluster, "KillWait=31\n")
    wide = cluster.spec.with_partitions((*cluster.spec.partitions, PartitionSpec("wide", "ALL")))
    committed(cluster, propose(cluster, wide, base=1, by=cast.ada))
    answer = client.post(at(cluster, "slurm-conf-apply"), mine)
    page = text_of(answer)
    assert answer.status_code == 409 and "partitions[wide]" in page and "slurm_conf:" in page
    assert "Put my text on revision 2" in page and "KillWait=31" in page
    # The text goes on top of the new revision, and can then be applied.
    editor = text_of(client.post(at(cluster, "slurm-conf"), mine))
    assert "now on top of revision 2" in editor and "KillWait=31" in editor and "PartitionName=wide" in editor
    again = client.post(at(cluster, "slurm-conf-apply"), sent(Cluster.objects.get(), "KillWait=31\n", base=2))
    assert again.status_code == 302


def test_back_to_the_text_keeps_it_without_javascript(cluster: Cluster, client: Client) -> None:
    page = text_of(client.post(at(cluster, "slurm-conf"), sent(cluster, "FooBar=7\n")))
    assert "FooBar=7" in page


# The change's page


def test_a_refused_change_shows_the_daemons_words_beside_the_line_and_the_way_back(
    cluster: Cluster, client: Client, cast: Cast
) -> None:
    spec = cluster.spec.with_slurm_conf("# ours\nKillWait=31\nTaskPlugin=task/deadly\n")
    change = propose(cluster, spec, base=1, by=cast.ada)
    change.status, change.why = ChangeStatus.ROLLED_BACK, "slurmctld died of it."
    message = "Line 3: Unable to find task/deadly."
    change.problems = [{"path": "slurm_conf", "message": message, "hint": "", "line": 3, "blocking": True}]
    change.save()
    page = text_of(client.get(at(cluster, "change", 1)))
    line = read(cluster).first_line + 2
    assert f'<div class="ln err"><span class="n">{line}</span>' in page
    assert "<b>Unable to find task/deadly.</b>" in page and "TaskPlugin=task/deadly" in page
    editor = f"{at(cluster, 'slurm-conf')}?from=1"
    assert f'href="{editor}#L{line}"' in page
    shown = text_of(client.get(editor))
    assert "TaskPlugin=task/deadly" in shown and "The text of change 1" in shown
