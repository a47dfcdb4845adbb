"""Creating from the form: the preview, problems at their fields, Clone; and scale, end and go-back dialogs."""

import re
from dataclasses import replace

import pytest
from django.test import Client

from clusters.lifecycle import Status
from clusters.models import Cluster, Region
from clusters.spec import to_json
from tests.clusters.test_pages import CLUSTER, page, signed_in, words
from tests.seed import KEY, Seed, seed

pytestmark = pytest.mark.django_db
NEW = "/t/research/clusters/new/"
ORDER = {
    "name": "tiny",
    "region": "lab",
    "image": "slurm-24-11",
    "gpu_plan": "h200-8x",
    "gpu_nodes": "2",
    "cpu_plan": "cpu-64",
    "cpu_nodes": "0",
    "ssh_keys": KEY,
}
IN_DIALOG = {"HX-Request": "true", "HX-Target": "dialog"}


@pytest.fixture
def seeded() -> Seed:
    return seed()


@pytest.fixture
def ada(seeded: Seed) -> Client:
    return signed_in(seeded, "ada")


def field(html: str, name: str) -> str:
    """The field's own markup, with its problems."""
    found = re.search(rf'data-field="{name}".*?(?=data-field=|</section>|</form>)', html, re.S)
    assert found, name
    return words(found[0])


def test_form_creates_the_cluster_that_was_ordered(ada: Client) -> None:
    response = ada.post(NEW, ORDER)
    assert response.headers["Location"] == "/t/research/c/tiny/"
    spec = Cluster.objects.get(slug="tiny").spec
    assert spec.node_names == ("slinky-0", "slinky-1") and spec.ssh_keys == (KEY,)
    assert "Creating" in page(ada, "/t/research/c/tiny/")


def test_preview_is_the_document_that_is_stored(ada: Client) -> None:
    html = ada.post(f"{NEW}preview/", ORDER).content.decode()
    assert "plan: h200-8x" in html and "ordinals: [0, 1]" in html
    assert "16</b> GPUs" in html and "56.80</b> / h" in html
    assert not Cluster.objects.filter(slug="tiny").exists()


@pytest.mark.parametrize(
    ("wrong", "at", "says"),
    [
        ({"name": "Llama"}, "name", "lower-case"),
        ({"name": "llama-pretrain"}, "name", "already"),
        ({"gpu_nodes": "17"}, "gpu_nodes", "1 to 16"),
        ({"gpu_nodes": "0"}, "gpu_nodes", "at least one worker"),
        ({"gpu_nodes": "many"}, "gpu_nodes", "whole number"),
        ({"ssh_keys": "ssh-dss AAAA"}, "ssh_keys", "DSA"),
    ],
)
def test_problems_show_at_their_fields_and_nothing_typed_is_lost(
    ada: Client, wrong: dict[str, str], at: str, says: str
) -> None:
    response = ada.post(NEW, {**ORDER, **wrong})
    assert response.status_code == 422
    html = response.content.decode()
    assert says in field(html, at)
    for value in {**ORDER, **wrong}.values():
        assert value in html


def test_clone_fills_the_form_and_keeps_conf_and_partitions(ada: Client, seeded: Seed) -> None:
    html = page(ada, f"{NEW}?from=llama-pretrain")
    assert 'value="llama-pretrain-2"' in html and 'value="4"' in html
    ada.post(NEW, {**ORDER, "name": "llama-pretrain-2", "source": "llama-pretrain", "keeps_conf": "on"})
    clone, original = Cluster.objects.get(slug="llama-pretrain-2").spec, seeded.cluster.spec
    assert (clone.slurm_conf, clone.partitions) == (original.slurm_conf, original.partitions)


def test_region_is_asked_for_only_where_there_are_several(ada: Client) -> None:
    assert 'data-field="region"' not in page(ada, NEW)
    Region.objects.create(slug="far", name="Far away", provisioner="nowhere")
    html = page(ada, NEW)
    assert 'data-field="region"' in html
    assert "This region offers none." in page(ada, f"{NEW}?region=far")


def test_operator_cannot_open_the_form(seeded: Seed) -> None:
    assert "you need to be admin" in page(signed_in(seeded, "ops"), NEW, status=403)


def test_scale_dialog_names_the_jobs_on_nodes_that_go(ada: Client) -> None:
    text = words(page(ada, f"{CLUSTER}scale/?slinky=3"))
    assert "Removes 1 node e2e_node_644 (slinky-3)" in text
    assert "Waits for 4131 eval-sweep of lin" in text and "4127" not in text
    assert "When the jobs there have ended" in text and "Now The jobs there end." in text


def test_scale_dialog_offers_no_choice_where_nothing_runs(ada: Client, seeded: Seed) -> None:
    seeded.cluster.jobs.update(is_finished=True)
    text = words(page(ada, f"{CLUSTER}scale/?slinky=3"))
    assert "Removes 1 node e2e_node_644 (slinky-3)" in text and "Ends no job" in text
    assert "Waits for" not in text and "When the jobs there have ended" not in text


@pytest.mark.parametrize(("typed", "force"), [("on", True), ("", False)])
def test_jobs_are_ended_only_where_that_was_chosen(
    ada: Client, seeded: Seed, typed: str, force: bool
) -> None:
    counts = {"slinky": "3", "cpu-workers": "2", "base": "2", "force": typed}
    ada.post(f"{CLUSTER}scale/", counts, headers=IN_DIALOG)
    assert seeded.cluster.changes.get(number=4).force is force


def test_the_nodes_that_go_can_be_chosen(ada: Client, seeded: Seed) -> None:
    text = words(page(ada, f"{CLUSTER}scale/?slinky=3&leaving=slinky-2"))
    assert "Removes 1 node e2e_node_701 (slinky-2)" in text and "slinky-3" not in text
    typed = {"slinky": "3", "cpu-workers": "2", "base": "2", "leaving": "slinky-2"}
    assert (
        ada.post(f"{CLUSTER}scale/", typed, headers=IN_DIALOG).headers["HX-Redirect"]
        == f"{CLUSTER}changes/4/"
    )
    assert seeded.cluster.changes.get(number=4).revision.parsed.groups[0].ordinals == (0, 1, 3)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("slinky-9", "The cluster has no node slinky-9."),
        ("slinky-[0-1]", "2 of slinky are chosen"),
        ("a[", "“a[”"),
    ],
)
def test_nodes_that_cannot_be_meant_are_said_at_their_field(
    ada: Client, seeded: Seed, chosen: str, said: str
) -> None:
    typed = {"slinky": "3", "cpu-workers": "2", "base": "2", "leaving": chosen}
    html = ada.post(f"{CLUSTER}scale/", typed, headers=IN_DIALOG).content.decode()
    assert said in words(html) and seeded.cluster.changes.count() == 3


def test_more_nodes_than_a_plan_has_are_said_at_the_field_of_the_group(ada: Client, seeded: Seed) -> None:
    typed = {"slinky": "99", "cpu-workers": "2", "base": "2"}
    answer = ada.post(f"{CLUSTER}scale/", typed, headers=IN_DIALOG)
    field = answer.content.decode().partition('data-field="slinky"')[2].partition("data-field")[0]
    assert answer.status_code == 422 and "at most 16 nodes" in field and 'value="99"' in field
    assert answer.content.decode().count("at most 16 nodes") == 1


def test_scaling_proposes_a_change_and_follows_it(ada: Client, seeded: Seed) -> None:
    typed = {"slinky": "5", "cpu-workers": "2", "base": "2"}
    response = ada.post(f"{CLUSTER}scale/", typed, headers=IN_DIALOG)
    assert response.headers["HX-Redirect"] == f"{CLUSTER}changes/4/"
    assert seeded.cluster.changes.get(number=4).revision.parsed.total_gpus == 40


def test_scaling_on_a_stale_base_shows_what_changed_and_does_nothing(ada: Client, seeded: Seed) -> None:
    typed = {"slinky": "5", "cpu-workers": "2", "base": "1"}
    response = ada.post(f"{CLUSTER}scale/", typed, headers=IN_DIALOG)
    text = words(response.content.decode())
    assert response.status_code == 409
    assert "Revision 2 became current while you worked on revision 1" in text
    assert "What you change" in text
    assert seeded.cluster.changes.count() == 3


def test_terminating_needs_the_name_typed(ada: Client, seeded: Seed) -> None:
    assert "4127 train-70b" in words(page(ada, f"{CLUSTER}terminate/"))
    refused = ada.post(f"{CLUSTER}terminate/", {"name": "llama"}, headers=IN_DIALOG)
    assert refused.status_code == 422 and "That is not the name" in refused.content.decode()
    assert 'value="llama"' in refused.content.decode()
    seeded.cluster.refresh_from_db()
    assert seeded.cluster.status == Status.RUNNING
    done = ada.post(f"{CLUSTER}terminate/", {"name": "llama-pretrain"}, headers=IN_DIALOG)
    assert done.headers["HX-Redirect"] == f"{CLUSTER}changes/4/"
    seeded.cluster.refresh_from_db()
    assert seeded.cluster.status == Status.TERMINATING


def test_what_the_status_forbids_is_refused_before_a_dialog_opens(ada: Client) -> None:
    text = page(ada, f"{CLUSTER}delete/", status=409)
    assert "A cluster that is Running cannot be deleted; it must be" in text


def test_deleting_a_terminated_cluster_begins_with_its_name(ada: Client) -> None:
    response = ada.post("/t/research/c/old-sweeps/delete/", {"name": "old-sweeps"})
    assert response.headers["Location"] == "/t/research/"
    assert Cluster.objects.get(slug="old-sweeps").status == Status.DELETING


def test_rolling_back_shows_the_difference_and_proposes_it(ada: Client, seeded: Seed) -> None:
    text = words(page(ada, f"{CLUSTER}changes/1/rollback/"))
    assert "PriorityWeightAge=5000" in text and "PriorityWeightAge=1000" in text
    response = ada.post(f"{CLUSTER}changes/1/rollback/", {"base": "2"}, headers=IN_DIALOG)
    assert response.headers["HX-Redirect"] == f"{CLUSTER}changes/4/"
    assert seeded.cluster.changes.get(number=4).summary == "Back to revision 1"


def test_reconfigure_states_its_impact_and_proposes(ada: Client, seeded: Seed) -> None:
    assert "files that were edited by hand. Such edits are overwritten." in words(
        page(ada, f"{CLUSTER}reconfigure/")
    )
    ada.post(f"{CLUSTER}reconfigure/")
    assert seeded.cluster.changes.get(number=4).kind == "reconfigure"


@pytest.mark.parametrize("act", ["scale", "reconfigure", "terminate"])
def test_viewer_cannot_open_an_act(seeded: Seed, act: str) -> None:
    page(signed_in(seeded, "vic"), f"{CLUSTER}{act}/", status=403)


def test_scale_dialog_adds_a_group_that_is_not_there(ada: Client, seeded: Seed) -> None:
    spec = seeded.cluster.spec
    only_gpus = {**to_json(spec), "groups": [g for g in to_json(spec)["groups"] if g["name"] == "slinky"]}
    seeded.cluster.revision.spec = only_gpus
    seeded.cluster.revision.save()
    html = page(ada, f"{CLUSTER}scale/")
    assert 'name="plan-cpu-workers"' in html and "Nothing changes yet" in html
    text = words(page(ada, f"{CLUSTER}scale/?cpu-workers=2&plan-cpu-workers=cpu-64"))
    assert re.search(r"Adds 2 nodes .*cpu-workers-0.*cpu-workers-1", text), text
    counts = {"slinky": len(spec.group("slinky").ordinals), "cpu-workers": 2}
    base = seeded.cluster.revision.number
    wrong = ada.post(f"{CLUSTER}scale/", {**counts, "base": base, "plan-cpu-workers": "h200-8x"})
    assert "Select a valid choice" in words(wrong.content.decode())
    ada.post(f"{CLUSTER}scale/", {**counts, "base": base, "plan-cpu-workers": "cpu-64"})
    change = seeded.cluster.changes.first()
    assert change.summary == "cpu-workers: added, 2 × cpu-64"
    assert change.revision.parsed.group("cpu-workers").node_names == ("cpu-workers-0", "cpu-workers-1")


def test_scale_to_zero_takes_the_group_and_its_partition_away(ada: Client, seeded: Seed) -> None:
    text = words(page(ada, f"{CLUSTER}scale/?cpu-workers=0"))
    assert "Takes away the partition cpu-workers" in text


def test_clone_says_what_is_not_copied(ada: Client, seeded: Seed) -> None:
    text = words(page(ada, f"{NEW}?from=llama-pretrain"))
    queue = seeded.cluster.jobs.filter(is_finished=False).count()
    for said in (
        "What is not copied from llama-pretrain",
        f"Its queue: {queue} jobs : jobs belong to its controller.",
        "Job history, accounts, users, QOS and limits :",
        "Host keys and addresses :",
    ):
        assert said in text
    assert "What is not copied" not in page(ada, NEW)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.DELETED])
def test_a_clone_can_be_made_from_every_status_that_has_a_record(
    ada: Client, seeded: Seed, status: Status
) -> None:
    Cluster.objects.filter(pk=seeded.cluster.pk).update(status=status)
    told = ada.get("/api/v1/teams/research/clusters/llama-pretrain/clone").json()
    assert {"what", "why", "instead"} == set(told["left_out"][0])
    made = ada.post("/api/v1/teams/research/clusters", told["order"], content_type="application/json")
    assert made.status_code == 201, made.json()
    clone, original = Cluster.objects.get(slug="llama-pretrain-2").spec, seeded.cluster.spec
    assert replace(clone, name=original.name) == original
