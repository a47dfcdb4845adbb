"""Nothing that can be pressed leads to a refusal: every page that a role reaches is read, and every link and form on it
followed. What a role may not do is shown disabled, with the reason beside it.
"""

from collections import deque
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from console.models import Membership
from console.roles import Action, Role, may
from tests.cast import Cast, person
from tests.test_doors import everybody

__all__ = ["everybody"]
MOST_PAGES = 400


class Controls(HTMLParser):
    """What a page lets one press: addresses to get, addresses to send forms to, disabled ones with a reason."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.forms: set[str] = set()
        self.disabled: list[tuple[str, str]] = []
        self._form: str | None = None
        self._can_send = False
        self._text: list[str] = []
        self._reason: str | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        is_off = "disabled" in given or given.get("aria-disabled") == "true"
        if tag == "a" and given.get("href") and not is_off and "download" not in given:
            self.links.add(given["href"] or "")
        if given.get("hx-get") and not is_off:
            self.links.add(given["hx-get"] or "")
        if given.get("hx-post") and not is_off:
            self.forms.add(given["hx-post"] or "")
        if tag == "form" and (given.get("method") or "get").lower() == "post":
            self._form, self._can_send = given.get("action") or "", False
        if tag == "button":
            if self._form is not None and given.get("type", "submit") == "submit" and not is_off:
                self._can_send = True
                if given.get("formaction"):
                    self.forms.add(given["formaction"] or "")
            # What needs a selection says so by its count, and is pressed only once there is one.
            if is_off and "data-needs-selection" not in given:
                self._reason, self._text = given.get("title") or "", []

    def handle_data(self, text: str) -> None:
        self._text.append(text)

    def handle_endtag(self, tag: str) -> None:
        if tag == "button" and self._reason is not None:
            self.disabled.append((" ".join("".join(self._text).split()), self._reason))
            self._reason = None
        if tag == "form" and self._form is not None:
            if self._can_send:
                self.forms.add(self._form)
            self._form = None


def asks(url: str) -> object:
    """What the view behind an address declares."""
    view = resolve(urlsplit(url).path).func
    return getattr(getattr(view, "view_class", view), "action", None)


@pytest.mark.parametrize("name", ["cy", "mo", "ben", "lin"])
def test_no_control_that_can_be_pressed_leads_to_a_refusal(
    everybody: Cast, client: Client, name: str
) -> None:
    role = Role(Membership.objects.get(user__username=name).role)
    client.force_login(person(name))
    client.raise_request_exception = False
    waiting, seen, wrong = deque(["/", "/profile/", "/t/research/"]), set(), []
    while waiting and len(seen) < MOST_PAGES:
        url = waiting.popleft()
        kind = _kind(url)
        if kind in seen:
            continue
        seen.add(kind)
        answer = client.get(url, follow=True)
        if answer.status_code == 403:
            wrong.append(f"{url}: refused")
        if "text/html" not in answer.headers.get("Content-Type", "") or answer.status_code >= 400:
            continue
        page = Controls()
        page.feed(answer.content.decode())
        here = answer.request["PATH_INFO"]
        for form in page.forms:
            action = asks(urljoin(here, form))
            if isinstance(action, Action) and not may(role, action, own=True):
                wrong.append(f"{url}: a form can be sent to {form}, which asks for {action}")
        wrong += [
            f"{url}: {label!r} says no reason" for label, why in page.disabled if not _says_why(label, why)
        ]
        waiting.extend(urljoin(here, link) for link in page.links if _is_ours(urljoin(here, link)))
    assert len(seen) > 25 and not wrong, "\n".join(wrong)


def _kind(url: str) -> str:
    """One address for each route and each set of parameters' names: pages that differ by a sort are one."""
    parts = urlsplit(url)
    return f"{parts.path}?{'&'.join(sorted(part.partition('=')[0] for part in parts.query.split('&')))}"


def _is_ours(url: str) -> bool:
    path = urlsplit(url).path
    if url.startswith(("http:", "https:", "mailto:")) or not path.startswith("/") or "/api/" in path:
        return False
    try:
        resolve(path)
    except Resolver404:
        return False
    return "sign-out" not in path


def _says_why(label: str, reason: str) -> bool:
    """In its title, or as a sentence after the label."""
    return bool(reason) or label.endswith(".")
