"""A dialog that shows what an act costs and does it once somebody said yes to that."""

from collections.abc import Callable
from typing import TypeVar

from django.http import HttpRequest, HttpResponse

from clusters import promises
from clusters.impact import Impact
from console.dialog import form_dialog

T = TypeVar("T")


def confirm(
    request: HttpRequest,
    template: str,
    context: dict[str, object],
    act: Callable[[], T],
    then: Callable[[T], str],
    *,
    impact: Impact,
) -> HttpResponse:
    """Show the impact; on POST act and go where `then` says. What costs more by now than what was shown is shown again,
    and so is whatever the act raises."""
    typed = {"start_at": request.POST.get("start_at", ""), "when": request.POST.get("when", "")}
    context = {**typed, **context, "impact": impact}
    context["asks_homes"] = impact.loses_homes

    def keep_and_act() -> str:
        promises.keep(request.POST.get("promise", ""), impact)
        return then(act())

    return form_dialog(request, template, context, None, keep_and_act)
