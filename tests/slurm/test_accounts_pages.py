"""The pages of accounts, on recorded answers: what they show, and what two people do to one thing at once."""

import html
import re
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from clusters.lifecycle import Status
from clusters.models import Cluster
from console.models import Event
from slurm.accounts.book import Book
from slurm.outputs.accounts import Association
from tests.cast import Cast
from tests.slurm.hands import Handed
from tests.slurm.recorded_accounts import Recorded

pytestmark = pytest.mark.django_db


@pytest.fixture
def hands(cast: Cast, cluster: Cluster, client: Client, settings) -> Recorded:
    """Behind `tiny`, at which its owner looks."""
    settings.PROVISIONERS["fake"] = "tests.slurm.hands.Handed"
    Handed.hands = Recorded()
    client.force_login(cast.ada.user)
    return Handed.hands


PAGES = ("accounting", "accounts", "account-users", "qos", "account-dump")


def page(client: Client, name: str, *args: str) -> str:
    response = client.get(reverse(name, args=("research", "tiny", *args)))
    assert response.status_code == 200
    return response.content.decode()


def test_pages_say_what_is_enforced_and_how_to_turn_it_on(hands, client):
    hands.enforce = "associations"
    for name in PAGES:
        shown = page(client, name)
        assert "no limit is enforced" in shown
        assert reverse("account-enforcement", args=("research", "tiny")) in shown


def test_a_cluster_without_accounting_says_so_and_offers_nothing(hands, client):
    hands.kind = "accounting_storage/none"
    for name in PAGES:
        shown = page(client, name)
        assert "keeps no accounting" in shown and "Add " not in shown and "Download" not in shown
    assert client.get(reverse("account-new", args=("research", "tiny"))).status_code == 409


def test_a_silent_cluster_is_no_empty_one(hands, client):
    hands.silent = True
    for name in PAGES:
        shown = page(client, name)
        assert "cannot be read now" in shown and "did not answer within 4 s" in shown and "Add " not in shown


def test_a_stopped_cluster_says_what_it_allows(hands, cluster, client):
    cluster.status = Status.TERMINATED
    cluster.save()
    assert "must be Running" in page(client, "accounts")


def test_an_operator_sees_all_and_changes_nothing(cast, hands, client):
    client.force_login(cast.ben.user)
    shown = page(client, "accounts")
    assert (
        "llm" in shown
        and "Needs the role admin" in shown
        and 'href="/t/research/c/tiny/accounting/new-account/"' not in shown
    )
    client.force_login(cast.mo.user)
    shown = page(client, "accounting")
    assert "Needs the role operator" in shown and "/accounting/accounts/" not in shown


def test_hostile_texts_are_shown_as_text(hands, client):
    shown = page(client, "accounts")
    assert "a|b↵root|evil|x" in shown


def test_the_dialog_of_enforcement_shows_the_line_its_impact_and_who_would_be_shut_out(
    hands, cluster, client
):
    hands.enforce = "none"
    cluster.jobs.create(
        key="7", number=7, job_id="7", submit_at="2030-01-01T00:00Z", state="PENDING", user="kim"
    )
    assert "A limit is set on" in page(client, "accounts") and "it stops nothing yet" in page(client, "qos")
    shown = page(client, "account-enforcement")
    assert (
        "AccountingStorageEnforce=limits,qos" in shown and "1 user of this cluster is in no account" in shown
    )
    done = client.post(reverse("account-enforcement", args=("research", "tiny")), {})
    assert done.status_code == 302 and "/changes/" in done["Location"]
    assert "AccountingStorageEnforce=limits,qos" in cluster.changes.get().revision.parsed.slurm_conf


def test_a_list_of_thousands_is_paged_and_filtered(hands, client):
    hands.users = 250
    shown = page(client, "account-users")
    assert "1–100 of 254" in shown and "u0099" not in shown
    assert (
        "u0249"
        in client.get(reverse("account-users", args=("research", "tiny")) + "?page=3").content.decode()
    )
    found = client.get(reverse("account-users", args=("research", "tiny")) + "?q=U024").content.decode()
    assert "1–10 of 10" in found and "u0240" in found and "u0001" not in found
    assert (
        "No user fits"
        in client.get(reverse("account-users", args=("research", "tiny")) + "?q=nobody-such").content.decode()
    )
    people = page(client, "account", "allset")
    assert "1–100 of 250" in people and "u0000" in people


def begun(text: str) -> str:
    return re.search(r'name="begun" value="([^"]*)"', text)[1]


def commands(text: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(r'<code tabindex="0">(.*?)</code>', text, re.DOTALL)]


def dialog(client: Client, status: int, **sent: object) -> str:
    response = client.post(reverse("account-edit", args=("research", "tiny", "llm")), sent)
    assert response.status_code == status, response.content.decode()
    return response.content.decode()


AS_IT_IS = {
    "parent": "vision",
    "description": "llm",
    "organization": "vision",
    "shares": "20",
    "grp_tres": "12",
}


def test_what_somebody_else_changed_since_a_form_was_opened_stays(hands, client, monkeypatch):
    token = begun(page(client, "account-edit", "llm"))
    others_set(monkeypatch, MaxJobs="4")
    shown = dialog(client, 200, begun=token, stage="preview", **{**AS_IT_IS, "shares": "5"})
    assert commands(shown) == ["sacctmgr -i modify account where name=llm cluster=2411 set fairshare=5"]
    assert "Meanwhile somebody else changed “Running jobs of each user”" in shown
    assert 'name="max_jobs" value="4"' in shown
    seal = re.search(r'name="seal" value="(\w*)"', shown)[1]
    others_set(monkeypatch, MaxJobs="9")
    dialog(
        client, 302, begun=begun(shown), stage="apply", seal=seal, max_jobs="4", **{**AS_IT_IS, "shares": "5"}
    )
    assert hands.told == [
        ["sacctmgr", "-i", "modify", "account", "where", "name=llm", "cluster=2411", "set", "fairshare=5"]
    ]


def test_what_two_changed_at_once_is_told_at_its_field_before_anything_runs(hands, client, monkeypatch):
    token = begun(page(client, "account-edit", "llm"))
    others_set(monkeypatch, MaxJobs="4")
    shown = dialog(client, 422, begun=token, stage="preview", max_jobs="7", **AS_IT_IS)
    assert "Somebody else changed this from nothing to “4” since you began." in html.unescape(shown)
    assert not commands(shown) and 'value="7"' in shown
    shown = dialog(client, 200, begun=begun(shown), stage="preview", max_jobs="7", **AS_IT_IS)
    assert commands(shown) == ["sacctmgr -i modify account where name=llm cluster=2411 set MaxJobs=7"]


def test_a_token_of_nobodys_is_none(hands, client):
    shown = dialog(client, 200, begun="forged:token", stage="preview", **{**AS_IT_IS, "shares": "5"})
    assert commands(shown) == ["sacctmgr -i modify account where name=llm cluster=2411 set fairshare=5"]


def others_set(monkeypatch, **limits: str) -> None:
    """As sacctmgr tells from now on of the account llm itself."""
    own = Book.account

    def account(self: Book, name: str) -> Association | None:
        found = own(self, name)
        return replace(found, limits={**found.limits, **limits}) if found and name == "llm" else found

    monkeypatch.setattr(Book, "account", account)


DOWN = (
    "sacctmgr: error: slurm_persist_conn_open: Something happened with the receiving/processing of the persistent "
    "connection init message to 127.0.0.1:6819: Unable to connect to database\n",
    "sacctmgr: error: slurm_persist_conn_open_without_init: failed to open persistent connection to "
    "host:127.0.0.1:6819: Connection refused\nsacctmgr: error: Sending PersistInit msg: Connection refused\n"
    "sacctmgr: error: Problem talking to the database: Connection refused\n",
)


@pytest.mark.parametrize("said", DOWN)
def test_a_database_that_is_down_is_named_on_every_page_and_in_every_dialog(hands, client, said):
    hands.down = said
    for name in PAGES:
        shown = page(client, name)
        assert "cannot be read now" in shown and "The accounting database does not answer" in html.unescape(
            shown
        )
        assert "PersistInit" not in shown and "persistent" not in shown
    for name, *args in (
        ("account-new",),
        ("account-edit", "llm"),
        ("qos-removal", "short"),
        ("account-restore",),
    ):
        answer = client.get(reverse(name, args=("research", "tiny", *args)))
        assert answer.status_code == 503 and "accounting database does not answer" in answer.content.decode()


def test_a_database_that_goes_down_between_look_and_act_changes_nothing_and_keeps_what_was_typed(
    hands, client
):
    typed = {**AS_IT_IS, "shares": "5"}
    shown = dialog(client, 200, stage="preview", **typed)
    hands.no = DOWN[0]
    seal = re.search(r'name="seal" value="(\w*)"', shown)[1]
    again = dialog(client, 503, stage="apply", seal=seal, **typed)
    assert "the accounting database does not answer" in again and 'name="shares" value="5"' in again
    assert Event.objects.get().outcome == "failed"


def test_what_was_typed_is_sent_again_once_the_database_is_back(hands, client):
    typed = {**AS_IT_IS, "shares": "5", "qos": ["normal", "short"]}
    hands.down = DOWN[0]
    shown = dialog(client, 503, stage="preview", **typed)
    assert "What you typed is kept" in shown
    again = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', shown)
    assert ("shares", "5") in again and ("qos", "normal") in again and ("qos", "short") in again
    assert 'name="stage" value="preview"' in shown and hands.told == []


@pytest.mark.parametrize(("said", "status"), [(DOWN[1], 503), ("sacctmgr: error: out of nowhere\n", 422)])
def test_what_was_typed_is_kept_whyever_the_accounts_cannot_be_read(hands, client, said, status):
    hands.down = said
    again = dialog(client, status, stage="preview", **{**AS_IT_IS, "shares": "5"})
    assert "Nothing ran. What you typed is kept." in again and 'name="shares" value="5"' in again
