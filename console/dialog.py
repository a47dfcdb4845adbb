"""A form in a dialog: shown, acted on once it is right, or shown again with what is wrong at its fields."""

import re
from collections.abc import Callable, Iterable

from django import forms
from django.http import HttpRequest, HttpResponse

from console.errors import ConsoleError, Problem, Rejected
from console.page import close_dialog, render_dialog

# Fields that stand in dialogs without being of a form: their templates look for their problems in `error`
# (components/problems_at.html).
OF_NO_FORM = ("start_at", "at_once")


class ProblemForm(forms.Form):
    """A form that what it asks for may find fault with, too."""

    def show_problems(self, problems: Iterable[Problem]) -> None:
        """Put each at its field; what has no field here comes above the form."""
        for problem in problems:
            field = re.sub(r"\[\d+\]", "", problem.path).rpartition(".")[2]
            text = f"{problem.message} {problem.hint}".strip()
            self.add_error(field if field in self.fields else None, text)


def form_dialog(
    request: HttpRequest,
    template: str,
    context: dict[str, object],
    form: ProblemForm | None,
    act: Callable[[], str],
) -> HttpResponse:
    """Show the dialog; on POST of a valid form act and go to the address that `act` returns.

    Whatever ConsoleError it raises is shown in the dialog, with its status, above what was typed; problems of fields at
    the fields. `form` is None where nothing is asked for but a yes.
    """
    if form is not None:
        context = {**context, "form": form}
    if request.method != "POST":
        return render_dialog(request, template, context)
    if form is not None and not form.is_valid():
        return render_dialog(request, template, context, status=422)
    try:
        return close_dialog(request, act())
    except ConsoleError as error:
        context["error"] = _left_of(error, form)
        return render_dialog(request, template, context, status=error.status)


def _left_of(error: ConsoleError, form: ProblemForm | None) -> ConsoleError | None:
    """What is still to be said once each problem that belongs to the form stands there."""
    if form is None or not isinstance(error, Rejected):
        return error
    left = tuple(problem for problem in error.problems if problem.path in OF_NO_FORM)
    form.show_problems(problem for problem in error.problems if problem.path not in OF_NO_FORM)
    return Rejected(error.message, left, error.hint) if left or not error.problems else None
