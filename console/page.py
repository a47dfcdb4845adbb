"""Answering a browser: the only place that looks at `request.htmx`.

Every dialog is also a page: opened by htmx it arrives in the page's <dialog>, opened in a tab it is a whole page. The
template extends `base`, which is chosen here.
"""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render


def render_page(
    request: HttpRequest, template: str, context: dict[str, object], *, status: int = 200
) -> HttpResponse:
    """A whole page, or only its main part when htmx navigates."""
    return render(request, template, {"base": "base.html", **context}, status=status)


def render_dialog(
    request: HttpRequest, template: str, context: dict[str, object], *, status: int = 200
) -> HttpResponse:
    """The same template in the open page's dialog, or as a page of its own."""
    base = "dialog.html" if _in_dialog(request) else "base.html"
    return render(request, template, {"base": base, **context}, status=status)


def close_dialog(request: HttpRequest, url: str) -> HttpResponse:
    """After a successful POST: go to `url`, from a dialog and from a page alike."""
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return HttpResponseRedirect(url)


def _in_dialog(request: HttpRequest) -> bool:
    return bool(request.htmx) and request.htmx.target == "dialog"
