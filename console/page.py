"""Answering a browser: the only place that looks at `request.htmx`.

Every dialog is also a page: opened by htmx it arrives in the page's <dialog>, opened in a tab it is a whole page. The
template extends `base`, which is chosen here. `shell` is what the frame around every page shows.
"""

from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django_htmx.middleware import HtmxDetails

from console.access import may_see, standing_in, teams_of
from console.errors import ConsoleError
from console.models import Membership, Team, User

R = TypeVar("R", bound=HttpResponse)


def render_page(
    request: HttpRequest, template: str, context: dict[str, object], *, status: int = 200
) -> HttpResponse:
    """A whole page, or only its main part when htmx navigates."""
    return render(request, template, {"base": "base.html", **context}, status=status)


def render_region(
    request: HttpRequest, template: str, region: str, context: dict[str, object]
) -> HttpResponse:
    """A whole page, or only its live region when htmx or `live.js` fetches that: same address, same context."""
    alone = bool(_htmx(request)) or "X-Live" in request.headers
    response = render(request, region if alone else template, {"base": "base.html", **context})
    patch_vary_headers(response, ["HX-Request", "X-Live"])
    return response


def render_dialog(
    request: HttpRequest, template: str, context: dict[str, object], *, status: int = 200
) -> HttpResponse:
    """The same template in the open page's dialog, or as a page of its own."""
    base = "dialog.html" if _in_dialog(request) else "base.html"
    return render(request, template, {"base": base, **context}, status=status)


def render_error(request: HttpRequest, error: ConsoleError) -> HttpResponse:
    """A page; in the dialog, a dialog; in any other fragment, a notice."""
    base = "dialog.html" if _in_dialog(request) else "notice.html" if _htmx(request) else "base.html"
    response = render(request, "console/error.html", {"base": base, "error": error}, status=error.status)
    return with_headers(response, error)


def with_headers(response: R, error: ConsoleError) -> R:
    """The answer with what the error says in headers, as Retry-After."""
    for name, value in error.headers.items():
        response.headers[name] = value
    return response


def close_dialog(request: HttpRequest, url: str) -> HttpResponse:
    """After a successful POST: go to `url`, from a dialog and from a page alike."""
    if _htmx(request):
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return HttpResponseRedirect(url)


def close_dialog_telling(request: HttpRequest, event: str, url: str) -> HttpResponse:
    """After a successful POST: where a script hears `event` it closes the dialog and looks again; a page goes to
    `url`."""
    if _in_dialog(request):
        return HttpResponse(status=204, headers={"HX-Trigger": event})
    return close_dialog(request, url)


def opened_over(request: HttpRequest, section: str, otherwise: str) -> str:
    """The page that the dialog was opened over, if its path lies below `section`; else `otherwise`."""
    htmx = _htmx(request)
    here = urlsplit(htmx.current_url or "") if htmx else None
    if here is None or not here.path.startswith(section):
        return otherwise
    return f"{here.path}?{here.query}" if here.query else here.path


def _in_dialog(request: HttpRequest) -> bool:
    htmx = _htmx(request)
    return bool(htmx) and htmx.target == "dialog"


def _htmx(request: HttpRequest) -> HtmxDetails:
    details: HtmxDetails = request.htmx  # type: ignore[attr-defined]  # its middleware puts it there
    return details


@dataclass(frozen=True)
class Shell:
    """The frame: the person's teams and the one that the page belongs to, if they reach it."""

    teams: list[Team]
    team: Team | None
    membership: Membership | None

    @property
    def as_staff(self) -> bool:
        """Whether the page is of a team that the person, platform staff, is not in."""
        return self.membership is not None and self.membership.as_staff

    @property
    def role(self) -> str:
        return "platform staff" if self.as_staff else self.membership.role if self.membership else ""


def shell(request: HttpRequest) -> dict[str, object]:
    """Context processor. Lazy: fragments that show no frame cost no query."""
    return {"shell": SimpleLazyObject(lambda: _shell(request))}


def _shell(request: HttpRequest) -> Shell:
    if not isinstance(request.user, User):
        return Shell([], None, None)
    slug = request.resolver_match.kwargs.get("team") if request.resolver_match else None
    found = standing_in(slug, request.user) if slug else None
    membership = found if found and may_see(found) else None
    team = membership.team if membership else None
    teams = teams_of(request.user)
    if team and membership and membership.as_staff:
        teams = [*teams, team]
    return Shell(teams, team, membership)
