"""Where a person is signed in: listed with the browser and its address, ended one by one or all at once."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client
from django.utils import timezone

from console.browsers import browser_words
from console.errors import Missing
from console.models import BrowserSession, Event, User
from console.roles import Scope
from console.sessions import signed_in
from console.tasks import forget_sessions
from console.tokens import make_token
from tests.cast import person

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.5 Mobile/15E148 Safari/604.1"
)


def browser(name: str = "ada", agent: str = FIREFOX, address: str = "192.0.2.7") -> Client:
    """A browser in which the person has signed in and looked at something."""
    client = Client(headers={"user-agent": agent}, REMOTE_ADDR=address)
    client.force_login(person(name))
    assert client.get("/profile/").status_code == 200
    return client


def page(client: Client) -> str:
    return client.get("/profile/").content.decode()


def ends(client: Client) -> list[str]:
    """The addresses that sign one browser out, in the order of the list."""
    return re.findall(r'action="(/profile/sessions/[0-9a-f]{16}/end/)"', page(client))


def is_in(client: Client) -> bool:
    return client.get("/profile/").status_code == 200


def test_profile_lists_each_browser_with_its_address_and_marks_this_one(db: None) -> None:
    here, _ = browser(), browser(agent=SAFARI, address="2001:db8::9")
    html = page(here)
    assert "Firefox on Linux" in html and "192.0.2.7" in html
    assert "Safari on iPhone" in html and "2001:db8::9" in html
    assert html.count("this one") == 2 and html.index("this one") < html.index("Safari on iPhone")


def test_page_holds_no_key_that_would_let_its_reader_in(db: None) -> None:
    here, there = browser(), browser()
    html = page(here)
    assert not any(one.cookies["sessionid"].value in html for one in (here, there))


def test_signing_one_browser_out_leaves_the_others(db: None) -> None:
    here, there = browser(), browser(agent=SAFARI)
    key = there.cookies["sessionid"].value
    assert signed_in(key).username == "ada"
    answer = here.post(ends(here)[1])
    assert answer.headers["Location"] == "/profile/"
    assert is_in(here) and not is_in(there)
    with pytest.raises(Missing):
        signed_in(key)
    event = Event.objects.get()
    assert (event.verb, event.who, event.target) == ("session.end", "ada", "Safari on iPhone")


def test_signing_this_browser_out_leads_to_the_form(db: None) -> None:
    here, there = browser(), browser()
    here.post(ends(here)[0])
    assert here.get("/profile/").headers["Location"].startswith("/sign-in/") and is_in(there)


def test_signing_out_everywhere_includes_this_browser(db: None) -> None:
    here, there, other = browser(), browser(), browser("ben")
    assert b"this one included" in here.get("/profile/sessions/end/").content
    assert here.post("/profile/sessions/end/").headers["Location"] == "/sign-in/"
    assert not is_in(here) and not is_in(there) and is_in(other)
    assert Event.objects.get().verb == "session.end-all"


def test_nobody_signs_somebody_else_out(db: None) -> None:
    ada, ben = browser(), browser("ben")
    assert ben.post(ends(ada)[0]).status_code == 404
    assert is_in(ada) and not Event.objects.exists()


def test_new_password_empties_the_list_of_other_browsers(db: None) -> None:
    User.objects.create(username="ada", password=make_password("correct-horse-battery"))
    here, _ = browser(), browser(agent=SAFARI)
    new = "another-staple-entirely"
    here.post(
        "/profile/",
        {"old_password": "correct-horse-battery", "new_password1": new, "new_password2": new},
    )
    assert len(ends(here)) == 1 and BrowserSession.objects.count() == 1


def test_browser_shut_out_by_a_password_set_elsewhere_is_not_listed(db: None) -> None:
    browser()
    user = person("ada")
    user.set_password("another-staple-entirely")
    user.save()
    assert len(ends(browser())) == 1


def test_session_past_its_end_is_not_listed(db: None) -> None:
    browser()
    BrowserSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert len(ends(browser())) == 1


def left_behind(count: int) -> None:
    """Browsers of Ada's that were seen before now, each a minute before the other."""
    row = BrowserSession.objects.get()
    BrowserSession.objects.bulk_create(
        BrowserSession(
            session_key=f"key-{number}", session_data=row.session_data, expire_date=row.expire_date,
            user=row.user, address=f"192.0.2.{number}", seen_at=timezone.now() - timedelta(minutes=number),
        )
        for number in range(1, count + 1)
    )  # fmt: skip


def addresses(html: str) -> list[int]:
    return [int(last) for last in re.findall(r"192\.0\.2\.(\d+)<", html)]


def test_profile_shows_those_seen_last_and_leads_to_all_of_them(db: None) -> None:
    here = browser(address="192.0.2.250")
    assert "All of them" not in page(here)
    left_behind(120)
    assert addresses(page(here)) == [250, 1, 2, 3, 4]
    assert '<a class="link" href="/profile/sessions/">All of them</a>' in page(here)
    pages = [here.get("/profile/sessions/", {"page": n}).content.decode() for n in ("1", "2", "3", "4", "x")]
    listed = [addresses(one) for one in pages]
    assert [*listed[0], *listed[1], *listed[2]] == [250, *range(1, 121)] and len(listed[1]) == 50
    assert listed[3] == [] and listed[4] == listed[0]
    assert "Seen earlier" in pages[0] and "Seen earlier" not in pages[2] and "Seen later" in pages[2]


def test_session_far_down_the_list_is_signed_out_and_its_list_comes_back(db: None) -> None:
    here = browser(address="192.0.2.250")
    left_behind(60)
    last = re.findall(
        r'action="(/profile/sessions/[0-9a-f]{16}/end/)"',
        here.get("/profile/sessions/?page=2").content.decode(),
    )[-1]
    assert here.post(last, {"whole": "1"}).headers["Location"] == "/profile/sessions/"
    assert not BrowserSession.objects.filter(session_key="key-60").exists()
    assert BrowserSession.objects.count() == 60


def test_api_lists_sessions_page_by_page_without_a_way_in(db: None) -> None:
    here = browser(address="192.0.2.250")
    left_behind(30)
    token = make_token(person("ada"), "script", scopes={Scope.READ})
    script = Client(headers={"authorization": f"Bearer {token}"})
    first = script.get("/api/v1/sessions", {"limit": 20}).json()
    rest = script.get(first["next"]).json()
    found = [*first["results"], *rest["results"]]
    assert [one["address"] for one in found[1:]] == [f"192.0.2.{number}" for number in range(1, 31)]
    assert rest["next"] is None and not any(one["is_this"] for one in found)
    assert set(found[0]) == {"browser", "address", "began_at", "seen_at", "is_this"}
    assert here.get("/api/v1/sessions").json()["results"][0]["is_this"]
    assert browser("ben").get("/api/v1/sessions").json()["results"][0]["address"] == "192.0.2.7"


def test_last_seen_is_written_at_most_once_a_minute(db: None) -> None:
    here = browser()
    first = BrowserSession.objects.get().seen_at
    page(here)
    assert first and BrowserSession.objects.get().seen_at == first
    BrowserSession.objects.update(seen_at=first - timedelta(seconds=61))
    here.get("/profile/", REMOTE_ADDR="192.0.2.99")
    row = BrowserSession.objects.get()
    assert row.seen_at is not None and row.seen_at > first and row.address == "192.0.2.99"


def test_change_of_the_sessions_data_keeps_what_was_noted_beside_it(db: None) -> None:
    here = browser()
    session = here.session
    session["anything"] = 1
    session.save()
    row = BrowserSession.objects.get()
    assert (row.user, row.address, row.browser) == (person("ada"), "192.0.2.7", FIREFOX)


def test_visitor_who_never_signed_in_is_not_noted(db: None) -> None:
    client = Client()
    client.get("/sign-in/")
    assert not BrowserSession.objects.exists()


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (SAFARI, "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0 Safari/537.36", "Chrome on macOS"),
        ("curl/8.14", "curl"),
        ("<script>alert(1)</script>", "another browser"),
        ("", "another browser"),
    ],
)
def test_browser_in_words(agent: str, words: str) -> None:
    assert browser_words(agent) == words


def test_sessions_that_are_over_are_forgotten(db: None) -> None:
    browser()
    gone = browser("ben")
    BrowserSession.objects.filter(user=person("ben")).update(
        expire_date=timezone.now() - timedelta(seconds=1)
    )
    forget_sessions()
    assert [row.user for row in BrowserSession.objects.all()] == [person("ada")] and not is_in(gone)
