"""Accounts, people and QOS changed through the pages, on a real slurmdbd: what was shown is what runs."""

import html
import re
from collections.abc import Iterator

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from clusters.models import Cluster
from console.models import Event
from slurm.client import Slurm
from tests.cast import Cast
from tests.slurm.hands import Handed
from tests.slurm.live.conftest import SLEEP, until

pytestmark = pytest.mark.django_db


@pytest.fixture
def live(cast: Cast, cluster: Cluster, slurm: Slurm, settings) -> Iterator[Slurm]:
    """`tiny`'s commands run on the real cluster. What tests added is taken away."""
    settings.PROVISIONERS["fake"] = "tests.slurm.hands.Handed"
    Handed.hands = slurm.executor
    yield slurm
    for words in (
        ["user", "where", "name=mo,kim"],
        ["account", "where", "name=llm,vision"],
        ["qos", "where", "name=short"],
    ):
        slurm.executor.run(["sacctmgr", "-i", "remove", *words], timeout_s=20)


@pytest.fixture
def page(cast: Cast, live: Slurm, client: Client):
    """GET or POST a page of tiny's accounting as its owner."""
    client.force_login(cast.ada.user)

    def ask(route: str, /, *args: str, status: int = 200, query: str = "", **sent: object) -> str:
        url = reverse(route, args=("research", "tiny", *args)) + query
        response = client.post(url, sent) if sent else client.get(url)
        assert response.status_code == status, words(response.content.decode())
        return response.content.decode()

    return ask


def words(text: str) -> str:
    return html.unescape(
        " ".join(re.sub(r"<(script|template).*?</\1>|<[^>]+>", " ", text, flags=re.DOTALL).split())
    )


def commands(text: str) -> list[str]:
    return [
        html.unescape(found) for found in re.findall(r"<code tabindex=\"0\">(.*?)</code>", text, re.DOTALL)
    ]


def sealed(text: str) -> str:
    return re.search(r'name="seal" value="(\w*)"', text)[1]


def apply(page, route: str, /, *args: str, **sent: object) -> list[str]:
    """Preview, then run what was shown. The commands."""
    shown = page(route, *args, stage="preview", **sent)
    assert commands(shown), re.sub(r"<[^>]+>", " ", shown)[-1500:]
    page(route, *args, status=302, stage="apply", seal=sealed(shown), **sent)
    return commands(shown)


def book(live: Slurm):
    return live.book(live.config()["ClusterName"])


def test_an_account_with_people_and_a_qos_from_the_pages_into_slurm_and_out_again(page, live):
    they_are_added(page, live)
    they_are_changed(page, live)
    somebody_coordinates_and_no_longer(page, live)
    the_pages_tell_of_them(page)
    they_are_removed(page, live)
    the_audit_trail_tells_of_it()


def they_are_added(page, live):
    assert apply(
        page, "qos-new", name="short", priority="100", max_tres_per_user="4", flags=["DenyOnLimit"]
    ) == ["sacctmgr -i add qos short priority=100 flags=DenyOnLimit MaxTRESPerUser=gres/gpu=4"]
    assert apply(
        page, "account-new", name="vision", parent="root", shares="20", description="Vision, all of it"
    ) == [
        "sacctmgr -i add account vision cluster=live parent=root 'description=Vision, all of it' fairshare=20"
    ]
    apply(page, "account-new", name="llm", parent="vision", shares="1", grp_tres="12", max_wall="1-00:00:00")
    assert apply(
        page, "account-member-new", "llm", user="mo", shares="parent", qos=["normal", "short"], max_jobs="3"
    ) == ["sacctmgr -i add user mo account=llm cluster=live fairshare=parent qos=normal,short MaxJobs=3"]
    found = book(live)
    llm, mo = found.account("llm"), found.membership("mo", "llm")
    assert (llm.parent, llm.limits) == ("vision", {"GrpTRES": "gres/gpu=12", "MaxWall": "1440"})
    assert (mo.shares, set(mo.qos), mo.limits, mo.is_default) == (
        None,
        {"normal", "short"},
        {"MaxJobs": "3"},
        True,
    )
    assert found.about("vision").description == "vision, all of it"


def they_are_changed(page, live):
    assert "Nothing would change" in page(
        "account-edit",
        "llm",
        status=422,
        stage="preview",
        parent="vision",
        shares="1",
        grp_tres="12",
        max_wall="1-00:00:00",
    )
    assert apply(page, "account-edit", "llm", parent="root", shares="5", grp_tres="gres/gpu=8,cpu=64") == [
        "sacctmgr -i modify account where name=llm cluster=live set fairshare=5 GrpTRES=gres/gpu=8,cpu=64 MaxWall=-1",
        "sacctmgr -i modify account where name=llm cluster=live set parent=root",
    ]
    assert apply(
        page, "account-member", "llm", "mo", shares="7", default_qos="short", qos=["normal", "short"]
    ) == [
        "sacctmgr -i modify user where name=mo account=llm cluster=live set fairshare=7 defaultqos=short MaxJobs=-1"
    ]
    apply(
        page,
        "qos-edit",
        "short",
        priority="90",
        max_tres_per_user="",
        max_jobs_per_user="2",
        flags=[],
        preempt=["normal"],
    )
    found = book(live)
    llm, mo, short = found.account("llm"), found.membership("mo", "llm"), found.named_qos("short")
    assert (llm.parent, llm.shares, llm.limits) == ("root", 5, {"GrpTRES": "gres/gpu=8,cpu=64"})
    assert (mo.shares, mo.default_qos, mo.limits) == (7, "short", {})
    assert (short.priority, short.flags, short.preempt, short.limits) == (
        90,
        (),
        ("normal",),
        {"MaxJobsPerUser": "2"},
    )


def somebody_coordinates_and_no_longer(page, live):
    assert apply(page, "account-coordinators", "llm", coordinators="mo") == [
        "sacctmgr -i add coordinator account=llm names=mo"
    ]
    assert book(live).coordinators_of("llm") == ("mo",) and "mo" in page("account", "llm")
    assert apply(page, "account-coordinators", "llm", coordinators=" ") == [
        "sacctmgr -i remove coordinator account=llm names=mo"
    ]
    assert book(live).coordinators_of("llm") == ()


def the_pages_tell_of_them(page):
    for name in ("accounts", "account-users", "qos", "accounting", "account-dump"):
        assert "live" in page(name) or "tiny" in page(name)
    assert "mo" in page("account", "llm") and "8 GPUs, 64 CPUs" in page("account", "llm")
    assert "mo may" not in page("account-removal", "llm") and "mo is in it" in page("account-removal", "llm")
    assert "may use it" in page("qos-removal", "short")


def they_are_removed(page, live):
    for name, *args in (
        ("account-member-removal", "llm", "mo"),
        ("account-removal", "llm"),
        ("account-removal", "vision"),
    ):
        page(name, *args, status=302, seal=sealed(page(name, *args)))
    page("qos-removal", "short", status=302, seal=sealed(page("qos-removal", "short")))
    found = book(live)
    assert [one.account for one in found.own] == ["root", "root"] and [one.name for one in found.qos] == [
        "normal"
    ]


def the_audit_trail_tells_of_it():
    verbs = list(Event.objects.order_by("pk").values_list("verb", "outcome").distinct())
    assert {verb for verb, _ in verbs} >= {
        "qos.add",
        "account.add",
        "account.change",
        "account.remove",
        "account.remove-user",
    }
    event = Event.objects.get(verb="account.change", outcome="done")
    assert event.target == "llm" and event.detail["ran"] == 2 and len(event.detail["commands"]) == 2


def test_what_changed_meanwhile_is_shown_again_instead_of_run(page, live):
    typed = {"parent": "root", "shares": "5"}
    apply(page, "account-new", name="llm", parent="root", shares="1")
    shown = page("account-edit", "llm", stage="preview", **typed)
    live.executor.run(
        ["sacctmgr", "-i", "modify", "account", "where", "name=llm", "set", "MaxJobs=4"], timeout_s=20
    )
    again = page("account-edit", "llm", status=409, stage="apply", seal=sealed(shown), **typed)
    assert "changed since this was shown" in again
    assert commands(again) == [
        "sacctmgr -i modify account where name=llm cluster=live set fairshare=5 MaxJobs=-1"
    ]
    assert book(live).account("llm").shares == 1


def test_a_command_that_slurm_refuses_in_the_middle_leaves_what_ran_and_says_so(page, live, monkeypatch):
    apply(page, "account-new", name="llm", parent="root", shares="1")
    apply(page, "account-new", name="vision", parent="root", shares="1")
    typed = {"parent": "vision", "shares": "5"}
    shown = page("account-edit", "llm", stage="preview", **typed)
    run = live.executor.run

    class Refusing:
        def run(self, argv, **kwargs):
            return run([*argv[:-1], "GrpTRES=gres/nope=1"] if argv[-1] == "parent=vision" else argv, **kwargs)

        run_each = live.executor.run_each

    Handed.hands = Refusing()
    said = page("account-edit", "llm", status=422, stage="apply", seal=sealed(shown), **typed)
    assert "1 command of 2 ran, then it stopped" in said and "does not count gres/nope" in said
    assert (book(live).account("llm").shares, book(live).account("llm").parent) == (5, "root")
    event = Event.objects.filter(verb="account.change").latest("pk")
    assert (event.outcome, event.detail["ran"]) == ("refused", 1)


@pytest.mark.parametrize(
    ("name", "args", "typed", "says"),
    [
        ("account-new", (), {"name": "Big Account", "parent": "root"}, "is not a name"),
        ("account-new", (), {"name": "root", "parent": "root"}, "There is an account root already"),
        ("account-new", (), {"name": "llm", "parent": "root", "grp_tres": "lots"}, "is not a resource"),
        (
            "account-new",
            (),
            {"name": "llm", "parent": "root", "description": "it's"},
            "No line ends, quotation marks",
        ),
        (
            "account-new",
            (),
            {"name": "llm", "parent": "root", "default_qos": "nosuch"},
            "Select a valid choice",
        ),
        ("qos-new", (), {"name": "normal"}, "There is a QOS normal already"),
        ("account-member-new", ("root",), {"user": "root"}, "root is in root already"),
        ("account-member-new", ("root",), {"user": "-i"}, "is not a name"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_runs(page, name, args, typed, says):
    shown = page(name, *args, status=422, stage="preview", **typed)
    assert says in html.unescape(shown) and not commands(shown)


def test_slurms_own_refusal_comes_to_its_field(page, live):
    """The console takes any resource that has the form of one; which there are only Slurm knows."""
    typed = {"name": "llm", "parent": "root", "grp_tres": "gres/fpga=2"}
    shown = page("account-new", stage="preview", **typed)
    said = html.unescape(page("account-new", status=422, stage="apply", seal=sealed(shown), **typed))
    field = re.search(r'data-field="grp_tres".*?</div>\s*</div>', said, re.DOTALL)[0]
    assert "This cluster does not count gres/fpga." in field
    assert book(live).account("llm") is None


def test_a_circle_of_parents_never_reaches_slurmdbd(page, live):
    apply(page, "account-new", name="vision", parent="root")
    apply(page, "account-new", name="llm", parent="vision")
    said = page("account-edit", "vision", status=422, stage="preview", parent="llm")
    assert not commands(said) and "llm is not one of the available choices" in said


def test_ones_own_usage_shows_limits_how_much_is_used_and_why_a_job_waits(page, live, cluster):
    apply(page, "qos-new", name="short", max_tres_per_user="4")
    live.executor.run(
        ["sacctmgr", "-i", "modify", "user", "where", "name=root", "set", "qos+=short"], timeout_s=20
    )
    number = live.submit(SLEEP, ["--gres=gpu:3", "--qos=short"])
    until(lambda: any(job.job_id == str(number) and job.state == "RUNNING" for job in live.jobs()))
    cluster.jobs.create(key="1", number=number, job_id=str(number), submit_at="2030-01-01T00:00Z", user="root",
        account="root", qos="short", state="RUNNING", gpus=3)  # fmt: skip
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page("accounting")))
    assert "linked to no user of this cluster" in shown and "run as root" in shown
    assert "GPUs of each user at once 3 GPUs of 4 GPUs" in shown
    days = page("accounting-days")
    assert "GPU-hours" in days and "did not" not in days


def test_a_dump_comes_back_as_it_was(page, live, client):
    apply(page, "account-new", name="vision", parent="root", shares="9", description="a: b, c")
    apply(page, "account-member-new", "vision", user="kim", shares="2")
    dump = client.get(reverse("account-dump-file", args=("research", "tiny")))
    assert dump["Content-Disposition"].endswith('.cfg"') and b"User - 'kim'" in dump.content
    page(
        "account-member-removal",
        "vision",
        "kim",
        status=302,
        seal=sealed(page("account-member-removal", "vision", "kim")),
    )
    page("account-removal", "vision", status=302, seal=sealed(page("account-removal", "vision")))
    shown = page("account-restore", stage="preview", file=SimpleUploadedFile("a.cfg", dump.content))
    told = html.unescape(re.sub(r"<[^>]+>", " ", shown))
    assert "account vision below root" in told and "user kim in vision" in told
    assert commands(shown) == ["sacctmgr -i load file=/dev/stdin"]
    page("account-restore", status=302, stage="apply", seal=sealed(shown), text=dump.content.decode())
    found = book(live)
    assert (found.account("vision").shares, found.membership("kim", "vision").shares) == (9, 2)
    assert live.dump_accounts("live") == dump.content
    assert Event.objects.filter(verb__in=["account.dump", "account.restore"]).count() == 2
