"""The Users & keys tab, its dialogs and its API, and one's own keys on the profile page and in the API."""

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from clusters import personal_keys
from clusters.identities import identify
from clusters.models import Cluster, Region
from clusters.spec import Logins, LoginUser, Mount
from console.roles import Scope
from console.tokens import make_token
from storage.models import Volume
from tests.cast import Cast, person, tiny_cluster, tiny_spec
from tests.clusters.keys import ED25519, ED25519_FINGERPRINT, OTHER_ED25519, rsa

TAB = "/t/research/c/tiny/users/"
API = "/api/v1/teams/research/clusters/tiny"
IN_DIALOG = {"HX-Request": "true", "HX-Target": "dialog"}


@pytest.fixture
def cluster(cast: Cast, region: Region) -> Cluster:
    """Mo has a login, with sudo, and a volume is mounted."""
    volume = Volume.objects.create(team=cast.team, region=region, slug="shared", kind="sfs", size_gib=1)
    mo = LoginUser("mo", identify(cast.team, cast.mo.user).number, sudo=True)
    logins = Logins(on=True, account="research", users=(mo,))
    return tiny_cluster(
        cast.team,
        spec=tiny_spec(ssh_keys=(ED25519,), mounts=(Mount(volume.key, "shared", "/shared"),), logins=logins),
    )


@pytest.fixture
def ada(client: Client, cluster: Cluster) -> Client:
    client.force_login(person("ada"))
    return client


def text(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def as_(name: str) -> Client:
    client = Client()
    client.force_login(person(name))
    return client


def wanted(cluster: Cluster) -> Logins:
    """Of the newest change."""
    revision = cluster.changes.latest("number").revision
    assert revision is not None
    return revision.parsed.logins


def test_the_tab_lists_who_signs_in_and_the_keys_of_the_cluster(ada: Client) -> None:
    page = text(ada, TAB)
    assert 'id="login-mo"' in page and "/home/mo" in page and "20000" in page
    assert ED25519_FINGERPRINT in page and "ada@laptop" in page
    assert "survive every restart" in page


def test_off_says_that_everybody_is_root(ada: Client, cast: Cast, cluster: Cluster) -> None:
    cluster.revision.spec["logins"]["on"] = False  # type: ignore[union-attr]
    cluster.revision.save()  # type: ignore[union-attr]
    page = text(ada, TAB)
    assert "Everybody is root on the login node" in page and "Switch on login users" in page
    assert 'id="login-mo"' not in page
    assert ada.get(f"{TAB}new/").status_code == 409


def test_a_platform_without_login_users_says_why(ada: Client, cluster: Cluster, region: Region) -> None:
    region.config["no_logins"] = "There is no directory."
    region.save()
    cluster.revision.spec["logins"]["on"] = False  # type: ignore[union-attr]
    cluster.revision.save()  # type: ignore[union-attr]
    page = text(ada, TAB)
    assert "There is no directory." in page and "Switch on login users" not in page
    assert "There is no directory." in ada.get(f"{TAB}settings/").content.decode()
    assert "There is no directory." in text(ada, "/t/research/clusters/new/")


def test_who_may_not_change_it_is_told_why_before_pressing(cluster: Cluster) -> None:
    page = text(as_("mo"), TAB)
    assert page.count('aria-disabled="true"') >= 6
    assert "hx-get" not in page.partition('id="logins"')[2].partition("</main>")[0]
    assert as_("mo").get(f"{TAB}of/mo/removal/").status_code == 403


def test_a_login_is_added_by_its_dialog(ada: Client, cluster: Cluster) -> None:
    page = text(ada, f"{TAB}new/?account=ben&groups=lab")
    assert "no SSH key in their profile" in page
    sent = {"base": "1", "account": "ben", "name": "benjamin", "groups": "lab, vision", "sudo": "on"}
    answer = ada.post(f"{TAB}new/", sent, headers=IN_DIALOG)
    assert answer.headers["HX-Redirect"] == "/t/research/c/tiny/changes/1/"
    ben = wanted(cluster).users[0]
    assert (ben.name, ben.groups, ben.sudo) == ("benjamin", ("lab", "vision"), True)


def test_a_bad_name_is_shown_at_its_field(ada: Client, cluster: Cluster) -> None:
    answer = ada.post(f"{TAB}new/", {"base": "1", "account": "ben", "name": "root"}, headers=IN_DIALOG)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert (
        "belongs to the system" in page.partition('data-field="name"')[2].partition('data-field="groups"')[0]
    )


def test_a_removal_shows_what_it_costs_and_asks_what_becomes_of_jobs_and_home(
    ada: Client, cluster: Cluster
) -> None:
    cluster.jobs.create(
        key="7", number=7, job_id="7", name="train", submit_at=cluster.created_at, user="mo", state="RUNNING",
        nodes="slinky-0",
    )  # fmt: skip
    assert "ends" not in text(ada, f"{TAB}of/mo/removal/").partition("<dt>Ends</dt>")[2][:60]
    page = text(ada, f"{TAB}of/mo/removal/?jobs=cancel&home=delete")
    assert "train" in page and "<dt>Deletes</dt>" in page and "<dt>Signs out</dt>" in page
    sent = {"base": "1", "jobs": "cancel", "home": "archive"}
    assert ada.post(f"{TAB}of/mo/removal/", sent, headers=IN_DIALOG).status_code == 204
    (left,) = wanted(cluster).leavers
    assert (left.name, left.jobs, left.home) == ("mo", "cancel", "archive")


def test_groups_and_sudo_are_edited(ada: Client, cluster: Cluster) -> None:
    assert 'value="' in text(ada, f"{TAB}of/mo/")
    assert ada.post(f"{TAB}of/mo/", {"base": "1", "groups": "lab"}, headers=IN_DIALOG).status_code == 204
    assert (wanted(cluster).users[0].groups, wanted(cluster).users[0].sudo) == (("lab",), False)
    assert ada.get(f"{TAB}of/nobody/").status_code == 404


def test_homes_move_to_a_volume_and_the_dialog_says_that_files_do_not(ada: Client, cluster: Cluster) -> None:
    assert "No file is moved" in text(ada, f"{TAB}settings/?on=on&homes=/shared")
    sent = {"base": "1", "on": "on", "homes": "/shared"}
    assert ada.post(f"{TAB}settings/", sent, headers=IN_DIALOG).status_code == 204
    assert wanted(cluster).homes == "/shared"


def test_switching_off_says_who_is_signed_out(ada: Client, cluster: Cluster) -> None:
    page = text(ada, f"{TAB}settings/?homes=")
    assert "<dt>Signs out</dt>" in page
    assert ada.post(f"{TAB}settings/", {"base": "1", "homes": ""}, headers=IN_DIALOG).status_code == 204
    assert not wanted(cluster).on


def test_keys_of_the_cluster_come_and_go(ada: Client, cluster: Cluster) -> None:
    weak = ada.post(f"{TAB}keys/new/", {"base": "1", "line": rsa(1024)}, headers=IN_DIALOG)
    assert weak.status_code == 422 and "1024 bits" in weak.content.decode()
    assert (
        ada.post(f"{TAB}keys/new/", {"base": "1", "line": OTHER_ED25519}, headers=IN_DIALOG).status_code
        == 204
    )
    revision = cluster.changes.latest("number").revision
    assert revision and revision.parsed.ssh_keys == (ED25519, OTHER_ED25519)
    cluster.changes.all().delete()
    page = text(ada, f"{TAB}keys/removal/?fingerprint={ED25519_FINGERPRINT.replace('+', '%2B')}")
    assert "ada@laptop" in page
    sent = {"base": "1", "fingerprint": ED25519_FINGERPRINT}
    assert ada.post(f"{TAB}keys/removal/", sent, headers=IN_DIALOG).status_code == 204
    assert ada.get(f"{TAB}keys/removal/?fingerprint=SHA256:none").status_code == 404


def test_a_key_s_dialog_tells_its_cost_and_a_bad_time_at_the_time(ada: Client, cluster: Cluster) -> None:
    page = text(ada, f"{TAB}keys/new/")
    assert 'name="promise"' in page and "no job" in page
    typed = {"base": "1", "line": OTHER_ED25519, "start_at": "2020-01-31T18:30"}
    answer = ada.post(f"{TAB}keys/new/", typed, headers=IN_DIALOG)
    key, _, time = answer.content.decode().partition('id="start-about"')
    assert answer.status_code == 422 and 'class="problem"' not in key and 'class="problem"' in time
    assert not cluster.changes.exists()


def test_ones_own_keys_are_on_the_profile(cluster: Cluster) -> None:
    mo = as_("mo")
    assert "research/tiny" in text(mo, "/profile/ssh-keys/new/")
    refused = mo.post("/profile/ssh-keys/new/", {"line": rsa(1024)}, headers=IN_DIALOG)
    assert refused.status_code == 422 and "1024 bits" in refused.content.decode()
    assert mo.post("/profile/ssh-keys/new/", {"line": ED25519}, headers=IN_DIALOG).status_code == 204
    page = text(mo, "/profile/")
    assert ED25519_FINGERPRINT in page and "ada@laptop" in page
    assert wanted(cluster).users[0].keys == (ED25519,)
    number = person("mo").ssh_keys.get().pk
    assert as_("ben").post(f"/profile/ssh-keys/{number}/removal/").status_code == 404
    assert mo.post(f"/profile/ssh-keys/{number}/removal/", headers=IN_DIALOG).status_code == 204
    assert ED25519_FINGERPRINT not in text(mo, "/profile/")


def test_the_api_does_what_the_pages_do(ada: Client, cluster: Cluster) -> None:
    (mo,) = ada.get(f"{API}/login-users").json()["results"]
    assert (mo["login"], mo["account"], mo["number"], mo["home"]) == ("mo", "mo", 20000, "/home/mo")
    assert ada.get(f"{API}/login-settings").json()["on"] is True
    (key,) = ada.get(f"{API}/ssh-keys").json()["results"]
    assert (key["fingerprint"], key["bits"]) == (ED25519_FINGERPRINT, 256)

    def send(method: str, path: str, **body: object) -> int:
        cluster.changes.all().delete()
        call = getattr(ada, method)
        return int(call(f"{API}/{path}", {"base": 1, **body}, content_type="application/json").status_code)

    assert send("post", "login-users", account="ben") == 202
    assert send("post", "login-users", account="dee") == 422
    assert send("put", "login-users/mo", groups=["lab"]) == 202
    assert send("delete", "login-users/mo", jobs="cancel", home="keep") == 202
    assert wanted(cluster).leavers[0].jobs == "cancel"
    assert send("delete", "login-users/nobody") == 404
    assert send("put", "login-settings", on=False) == 202
    assert send("put", "ssh-keys", keys=[]) == 202
    assert send("put", "ssh-keys", keys=["ssh-ed25519 AAAA"]) == 422


def test_a_token_for_everything_adds_and_removes_ones_keys_and_any_other_reads_them(cluster: Cluster) -> None:
    personal_keys.add(person("mo"), ED25519)
    url = "/api/v1/ssh-keys"

    def asking(method: str, path: str, *scopes: Scope, who: str = "mo", **body: object) -> HttpResponse:
        headers = {"Authorization": f"Bearer {make_token(person(who), 'test', scopes=scopes)}"}
        return getattr(Client(), method)(path, body, content_type="application/json", headers=headers)

    (key,) = Client().get(url, headers=_bearer("mo", Scope.READ)).json()["results"]
    assert (key["fingerprint"], key["comment"]) == (ED25519_FINGERPRINT, "ada@laptop")
    for scope in (Scope.READ, Scope.JOBS, Scope.OPERATE):
        assert asking("post", url, scope, line=OTHER_ED25519).status_code == 403
        assert asking("delete", f"{url}/{key['number']}", scope).status_code == 403
    made = asking("post", url, Scope.ADMIN, line=OTHER_ED25519)
    assert made.status_code == 201 and person("mo").ssh_keys.filter(line=OTHER_ED25519).exists()
    assert asking("post", url, Scope.ADMIN, line=rsa(1024)).status_code == 422
    one = f"{url}/{made.json()['number']}"
    assert asking("delete", one, Scope.ADMIN, who="ben").status_code == 404
    assert asking("delete", one, Scope.ADMIN).status_code == 204
    assert [row.fingerprint for row in person("mo").ssh_keys.all()] == [ED25519_FINGERPRINT]


def _bearer(name: str, *scopes: Scope) -> dict[str, str]:
    return {"Authorization": f"Bearer {make_token(person(name), 'test', scopes=scopes)}"}


def test_a_login_change_by_script_may_wait_until_nothing_runs_in_its_way(
    ada: Client, cluster: Cluster
) -> None:
    cluster.jobs.create(
        key="7", number=7, job_id="7", submit_at=timezone.now(), user="mo", state="RUNNING", nodes="slinky-0"
    )
    body = {"base": 1, "jobs": "cancel", "home": "keep", "when_idle": True}
    assert ada.delete(f"{API}/login-users/mo", body, content_type="application/json").status_code == 202
    change = cluster.changes.latest("number")
    assert (change.status, change.when_idle) == ("scheduled", True)
