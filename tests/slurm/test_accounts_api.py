"""Accounts over the API and the pages, on recorded answers: who may what, what runs, what is refused."""

import json

import pytest
from django.test import Client

from clusters.identities import identify
from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.spec import Logins, LoginUser, to_json
from console.models import Event
from tests.cast import Cast
from tests.slurm.hands import Handed
from tests.slurm.recorded_accounts import Recorded
from tests.slurm.test_accounts_pages import page

pytestmark = pytest.mark.django_db
BASE = "/api/v1/teams/research/clusters/tiny"


@pytest.fixture
def hands(cluster: Cluster, settings) -> Recorded:
    settings.PROVISIONERS["fake"] = "tests.slurm.hands.Handed"
    Handed.hands = Recorded()
    return Handed.hands


@pytest.fixture
def api(cast: Cast, hands: Recorded, client: Client):
    client.force_login(cast.ada.user)

    def send(method: str, path: str, body: object = None):
        return client.generic(method, BASE + path, json.dumps(body or {}), content_type="application/json")

    def ask(method: str, path: str, body: object = None, status: int = 200):
        response = send(method, path, body)
        assert response.status_code == status, response.content.decode()[:2000]
        return response.json() if response.content else None

    ask.send = send
    return ask


def test_tree_users_and_qos_are_read(api):
    tree = api("GET", "/accounts")
    assert [(one["depth"], one["name"]) for one in tree] == [
        (0, "root"),
        (1, "allset"),
        (1, "vision"),
        (2, "llm"),
    ]
    llm = api("GET", "/accounts/llm")
    assert llm["own"]["limits"] == {"GrpTRES": "gres/gpu=12"} and llm["in_force"]["limits"]["MaxJobs"] == "50"
    assert api("GET", "/account-users/nobody")[1]["shares"] is None
    assert api("GET", "/qos/short")["limits"] == {"MaxJobsPerUser": "2", "MaxTRESPerUser": "gres/gpu=4"}
    for path in ("/accounts/nosuch", "/account-users/nosuch", "/qos/nosuch"):
        api("GET", path, status=404)


@pytest.mark.parametrize(
    ("method", "path", "body", "command"),
    [
        ("POST", "/accounts", {"name": "bio", "parent": "vision", "grp_tres": "8", "max_wall": "2:00:00"},
         "add account bio cluster=2411 parent=vision GrpTRES=gres/gpu=8 MaxWall=120"),
        ("PATCH", "/accounts/llm", {"grp_tres": ""},
         "modify account where name=llm cluster=2411 set GrpTRES=gres/gpu=-1"),
        ("PATCH", "/accounts/llm", {"qos": ["normal", "short"], "default_qos": "short", "shares": "parent"},
         "modify account where name=llm cluster=2411 set fairshare=parent qos=normal,short defaultqos=short"),
        ("DELETE", "/accounts/allset", None, "remove account where name=allset cluster=2411"),
        ("POST", "/accounts/allset/users", {"user": "kim", "partition": "debug", "max_jobs": "2"},
         "add user kim account=allset cluster=2411 partition=debug MaxJobs=2"),
        ("PATCH", "/accounts/llm/users/games?partition=all", {"max_jobs": ""},
         "modify user where name=games account=llm cluster=2411 partition=all set MaxJobs=-1"),
        ("PUT", "/accounts/llm/coordinators", {"coordinators": ["ann", "games"]},
         "add coordinator account=llm names=games"),
        ("PUT", "/accounts/llm/coordinators", {"coordinators": []}, "remove coordinator account=llm names=ann"),
        ("DELETE", "/accounts/vision/users/ann", None, "remove user where name=ann account=vision cluster=2411"),
        ("DELETE", "/account-users/games", None, "remove user where name=games cluster=2411"),
        ("POST", "/qos", {"name": "night", "priority": 3, "grp_tres_mins": "600", "flags": ["NoDecay"]},
         "add qos night priority=3 flags=NoDecay GrpTRESMins=gres/gpu=600"),
        ("PATCH", "/qos/short", {"preempt": ["normal"], "preempt_mode": "requeue", "grace_s": 60},
         "modify qos where name=short set gracetime=60 preempt=normal preemptmode=requeue"),
        ("DELETE", "/qos/allset", None, "remove qos where name=allset"),
    ],
)  # fmt: skip
def test_an_act_answers_with_its_command_and_runs_it_unless_it_is_a_preview(
    api, hands, method, path, body, command
):
    mark = "&" if "?" in path else "?"
    words = ["sacctmgr", "-i", *command.split()]
    assert api(method, f"{path}{mark}preview=true", body) == {"commands": [words], "ran": False}
    assert hands.told == [] and not Event.objects.exists()
    assert api(method, path, body) == {"commands": [words], "ran": True}
    assert hands.told == [words]
    event = Event.objects.get()
    assert event.outcome == "done" and event.detail["commands"] == [" ".join(words)]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "at", "says"),
    [
        ("PATCH", "/accounts/vision", {"parent": "llm"}, 422, "parent", "Select a valid choice"),
        ("PATCH", "/accounts/llm", {"grp_tres": "many"}, 422, "grp_tres", "is not a resource"),
        ("PATCH", "/accounts/llm", {"default_qos": "short"}, 422, "default_qos", "not among the QOS"),
        ("POST", "/accounts", {"name": "A b", "parent": "root"}, 422, "name", "is not a name"),
        ("POST", "/accounts/llm/users", {"user": "ann"}, 422, "user", "ann is in llm already"),
        ("PATCH", "/qos/short", {"preempt": ["short"]}, 422, "preempt", "Select a valid choice"),
        ("PATCH", "/accounts/llm", {}, 422, None, "Nothing would change"),
        ("PUT", "/accounts/llm/coordinators", {"coordinators": ["ann"]}, 422, None, "Nothing would change"),
        (
            "PUT",
            "/accounts/llm/coordinators",
            {"coordinators": ["ann", "kim"]},
            422,
            "coordinators",
            "kim is in no account",
        ),
        (
            "PUT",
            "/accounts/llm/coordinators",
            {"coordinators": ["-i"]},
            422,
            "coordinators",
            "-i is in no account",
        ),
        (
            "POST",
            "/account-restore",
            {"text": "Cluster - 'other'\nParent - 'root'\n"},
            422,
            "text",
            "The file is of the cluster other",
        ),
        (
            "POST",
            "/account-restore",
            {"text": "Cluster - '2411'\nnonsense\n"},
            422,
            "text",
            "no line of a dump",
        ),
        ("DELETE", "/accounts/llm", None, 409, None, "ann, games and nobody are in it"),
        ("DELETE", "/accounts/vision", None, 409, None, "llm is below it"),
        ("DELETE", "/accounts/root", None, 409, None, "root is what all accounts hang on"),
        ("DELETE", "/accounts/llm/users/ann", None, 409, None, "It is the default account of ann"),
        ("DELETE", "/account-users/root", None, 409, None, "The console submits"),
        ("DELETE", "/qos/short", None, 409, None, "nobody in llm may use it"),
        ("DELETE", "/qos/normal", None, 409, None, "what every account starts with"),
    ],
)
def test_what_must_not_reach_sacctmgr_is_refused_with_the_reason(
    api, hands, method, path, body, status, at, says
):
    told = api(method, path, body, status)
    assert says in json.dumps(told)
    if at:
        assert at in [problem["path"] for problem in told["errors"]]
    assert hands.told == []


@pytest.mark.parametrize(
    ("path", "body", "at"),
    [
        ("/accounts/llm", {"shares": "9" * 19}, "shares"),
        ("/accounts/llm", {"shares": "-1"}, "shares"),
        ("/accounts/llm", {"shares": "\u0663"}, "shares"),
        ("/accounts/llm", {"shares": "2147483647"}, "shares"),
        ("/accounts/llm", {"grp_tres": "gres/gpu=99999999999999999999"}, "grp_tres"),
        ("/accounts/llm", {"grp_tres": "gres/gpu=1 set parent=root"}, "grp_tres"),
        ("/accounts/llm", {"grp_tres": "gres/gpu=1,gres/gpu=2"}, "grp_tres"),
        ("/accounts/llm", {"grp_tres": "mem=9999999999P"}, "grp_tres"),
        ("/accounts/llm", {"max_jobs": "4294967294"}, "max_jobs"),
        ("/accounts/llm", {"max_wall": "999999999-00:00:00"}, "max_wall"),
        ("/accounts/llm", {"description": "x\nroot|evil"}, "description"),
        ("/accounts/llm", {"description": "a 'quoted' one"}, "description"),
        ("/accounts/llm", {"organization": "\u202egnp.exe"}, "organization"),
        ("/accounts/llm", {"parent": "root' or '1'='1"}, "parent"),
        ("/accounts/llm", {"qos": ["normal,short"]}, "qos"),
        ("/qos/short", {"priority": 2**40}, "priority"),
        ("/qos/short", {"usage_factor": 1e308}, "usage_factor"),
        ("/qos/short", {"grace_s": 2**33}, "grace_s"),
        ("/qos/short", {"flags": ["NoDecay,-1"]}, "flags"),
        ("/qos/short", {"preempt_mode": "off; rm -rf /"}, "preempt_mode"),
    ],
)
def test_hostile_and_huge_values_are_told_at_their_field_and_reach_no_command(api, hands, path, body, at):
    told = api("PATCH", path, body, 422)
    assert at in [problem["path"] for problem in told["errors"]]
    assert hands.told == [] and not Event.objects.exists()


@pytest.mark.parametrize(
    "name", ["-i", "a b", "a,b", "a=b", "A", "\u00e9", "x" * 64, "../x", "a\nb", "", "\x00"]
)
def test_hostile_names_make_no_account_user_or_qos(api, hands, name):
    for path, body in (
        ("/accounts", {"name": name, "parent": "root"}),
        ("/accounts/llm/users", {"user": name}),
        ("/qos", {"name": name}),
    ):
        response = api.send("POST", path, body)
        assert response.status_code in (400, 422), (path, name)
    assert hands.told == []


def test_a_dump_is_read_out_and_in_again_over_the_api(api, hands, cast, client):
    text = api("GET", "/account-dump")["text"]
    assert "Cluster - '2411'" in text and Event.objects.get().verb == "account.dump"
    text = "Cluster - '2411'\nParent - 'root'\nAccount - 'bio':Fairshare=3\n"
    shown = api("POST", "/account-restore?preview=true", {"text": text})
    assert {"sign": "+", "what": "account bio below root"} in shown["differences"]
    assert not shown["ran"] and hands.told == []
    assert api("POST", "/account-restore", {"text": text})["ran"]
    assert hands.told == [["sacctmgr", "-i", "load", "file=/dev/stdin"]]
    client.force_login(cast.ben.user)
    api("GET", "/account-dump")
    api("POST", "/account-restore", {"text": text}, 403)


def test_enforcement_is_turned_on_by_a_change_of_one_line_that_keeps_what_else_the_line_says(
    api, hands, cluster
):
    hands.enforce = "associations"
    assert api("GET", "/enforcement") == {
        "associations": True,
        "limits": False,
        "qos": False,
        "sentence": "Jobs need an account, but no limit is enforced.",
    }
    settings(cluster, "# ours\nAccountingStorageEnforce=associations,nojobs\nMinJobAge=60\n")
    change = api("POST", "/enforcement", {}, 202)
    asked = cluster.changes.get(number=change["number"]).revision.parsed.slurm_conf
    assert asked == "# ours\nAccountingStorageEnforce=associations,nojobs,limits,qos\nMinJobAge=60\n"


@pytest.mark.parametrize(
    ("enforce", "says"),
    [("limits,qos", "are enforced already"), ("none", "the controller has not read it")],
)
def test_what_is_enforced_or_asked_for_already_is_not_asked_for_again(api, hands, cluster, enforce, says):
    hands.enforce = enforce
    settings(cluster, "AccountingStorageEnforce=limits,qos\n")
    assert says in json.dumps(api("POST", "/enforcement", {}, 409))
    assert not cluster.changes.exists()


def settings(cluster: Cluster, text: str) -> None:
    revision = cluster.revision
    revision.spec = to_json(revision.parsed.with_slurm_conf(text))
    revision.save()


def test_jobs_and_partitions_keep_an_account_and_a_qos(api, hands, cluster):
    belongs = {"user": "kim", "account": "allset", "qos": "allset"}
    at = "2030-01-01T00:00Z"
    cluster.jobs.create(key="7", number=7, job_id="7", submit_at=at, state="PENDING", **belongs)
    assert "1 job is of it in the queue" in json.dumps(api("DELETE", "/accounts/allset", status=409))
    assert "1 job is with it in the queue" in json.dumps(api("DELETE", "/qos/allset", status=409))
    assert hands.told == []


def test_sacctmgrs_no_is_a_sentence_at_the_field_and_is_audited(api, hands):
    hands.no = (
        "sacctmgr: error: slurmdb_format_tres_str: no TRES known by type gres/fpga\n"
        " Unknown option: GrpTRES=gres/fpga=2\n"
    )
    told = api("PATCH", "/accounts/llm", {"grp_tres": "gres/fpga=2"}, 422)
    assert told["errors"][0]["path"] == "grp_tres"
    assert told["errors"][0]["message"] == "This cluster does not count gres/fpga."
    event = Event.objects.get()
    assert (event.verb, event.outcome, event.detail["ran"]) == ("account.change", "refused", 0)


@pytest.mark.parametrize(
    ("said", "status", "says"),
    [
        (" Nothing modified\n", 409, "found nothing to do"),
        (
            "sacctmgr: error: Problem talking to the database: Connection refused",
            503,
            "database does not answer",
        ),
        ("something new\x1b[2J", 422, "Slurm says: something new"),
        ("", 422, "Slurm says: nothing"),
    ],
)
def test_other_answers_of_sacctmgr(api, hands, said, status, says):
    hands.no = said or " "
    told = json.dumps(api("PATCH", "/accounts/llm", {"shares": "3"}, status))
    assert says in told and "\\u001b" not in told


def test_ones_own_usage_for_everybody_and_all_for_operators(api, cast, hands, client):
    client.force_login(cast.cy.user)
    mine = api("GET", "/usage")
    assert (mine["user"], mine["is_shared"], mine["enforced"]["qos"]) == ("root", True, True)
    for path in ("/accounts", "/qos", "/account-users/ann/usage"):
        api("GET", path, status=403)
    cast.cy.slurm_users = "nobody"
    cast.cy.save()
    mine = api("GET", "/usage")
    assert (mine["user"], mine["is_shared"]) == ("nobody", False)
    uses = {(one["scope"], one["option"]): (one["used"], one["total"]) for one in mine["uses"]}
    assert uses["QOS short", "MaxTRESPerUser"] == (0, 4) and uses["account llm", "GrpTRES"] == (0, 12)
    client.force_login(cast.ben.user)
    assert api("GET", "/account-users/ann/usage")["user"] == "ann"
    api("POST", "/qos", {"name": "x"}, 403)


def test_ones_own_usage_is_that_of_ones_login_user(api, cast, hands, cluster, client):
    """And of nobody, where others have a login and oneself has none: no job of theirs can run as root there."""
    mo = LoginUser("ann", identify(cast.team, cast.mo.user, "ann").number)
    with_logins(cluster, Logins(on=True, users=(mo,)))
    client.force_login(cast.mo.user)
    mine = api("GET", "/usage")
    assert (mine["user"], mine["is_shared"]) == ("ann", False)
    assert [one["association"]["account"] for one in mine["accounts"]] == ["vision", "llm"]
    assert 'Accounts of <span class="mono">ann</span>' in page(client, "accounting")
    client.force_login(cast.cy.user)
    assert "have no login on tiny" in api("GET", "/usage", status=409)["detail"]
    shown = page(client, "accounting")
    assert "You have no login on tiny" in shown and "run as" not in shown and "usage-days" not in shown
    cast.cy.slurm_users = "games"
    cast.cy.save()
    assert api("GET", "/usage")["user"] == "games"


def with_logins(cluster: Cluster, logins: Logins) -> None:
    cluster.revision.spec = to_json(cluster.spec.with_logins(logins))
    cluster.revision.save()


@pytest.mark.parametrize(
    ("trouble", "status", "says"),
    [
        ({"kind": "accounting_storage/none"}, 409, "keeps no accounting"),
        ({"silent": True}, 503, "did not answer within 4 s"),
    ],
)
def test_what_cannot_be_read_is_no_empty_answer(api, hands, trouble, status, says):
    for name, value in trouble.items():
        setattr(hands, name, value)
    for path in ("/accounts", "/accounts/llm", "/qos", "/account-users/ann", "/usage"):
        assert says in json.dumps(api("GET", path, status=status))


def test_a_stopped_cluster_says_what_it_allows(api, cluster):
    cluster.status = Status.TERMINATED
    cluster.save()
    api("GET", "/accounts", status=409)
