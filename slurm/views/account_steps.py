"""The dialogs that change accounts, people in them and QOS: a form, then the commands it comes to, then their run.

A POST says which `stage` it is: `preview` shows the commands, `edit` goes back to the form, `apply` runs what was
shown. The plan is made anew each time; one that differs from what was shown is shown again instead of run.
"""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from console.errors import Conflict, ConsoleError, Rejected, Unavailable
from console.page import close_dialog, opened_over, render_dialog
from console.roles import Action
from slurm.accounts import deeds
from slurm.accounts.accounting import (
    account_in,
    book_of,
    carry_out,
    in_use,
    member_in,
    partitions_of,
    qos_in,
    require_seal,
    seal,
    user_in,
)
from slurm.accounts.book import ROOT
from slurm.accounts.deeds import Deed
from slurm.accounts.forms import (
    AccountForm,
    CoordinatorsForm,
    LimitsForm,
    MemberForm,
    QosForm,
    begun_association,
    begun_qos,
)
from slurm.accounts.plan import Plan

View = Callable[..., HttpResponse]
_ANEW = ("csrfmiddlewaretoken", "stage")


def _keeping_what_was_typed(view: View) -> View:
    """Where the accounts cannot even be read there is no form to show again: what was sent is, to be sent again."""

    @wraps(view)
    def kept(request: HttpRequest, door: Door, **names: str) -> HttpResponse:
        try:
            return view(request, door, **names)
        except (Unavailable, Rejected) as error:
            if request.method != "POST":
                raise
            lists = request.POST.lists()
            sent = [(name, value) for name, values in lists for value in values if name not in _ANEW]
            context: dict[str, object] = {
                "sent": sent,
                "stage": request.POST.get("stage", ""),
                "error": error,
            }
            context |= {"door": door, "cluster": door.cluster}
            context["back"] = _back(request, door, "accounts")
            return render_dialog(request, "slurm/account_again.html", context, status=error.status)

    return kept


@cluster_view(Action.CHANGE_ACCOUNTS)
@_keeping_what_was_typed
def add_account(request: HttpRequest, door: Door) -> HttpResponse:
    book = book_of(door.cluster)
    form = AccountForm(request.POST or None, book=book, initial={"parent": request.GET.get("parent", ROOT)})
    return _form_step(request, door, form, lambda: deeds.adding_account(book, form), "accounts")


@cluster_view(Action.CHANGE_ACCOUNTS)
@_keeping_what_was_typed
def edit_account(request: HttpRequest, door: Door, account: str) -> HttpResponse:
    book = book_of(door.cluster)
    before = account_in(book, account)
    begun = begun_association(before, book.about(account))
    form = AccountForm(request.POST or None, book=book, before=before, initial=begun)
    return _form_step(request, door, form, lambda: deeds.changing_account(book, form), "accounts")


@cluster_view(Action.CHANGE_ACCOUNTS)
def remove_account(request: HttpRequest, door: Door, account: str) -> HttpResponse:
    book = book_of(door.cluster)
    account_in(book, account)
    back = reverse("accounts", kwargs=_where(door))
    return _removal(request, door, deeds.removing_account(book, account, in_use(door.cluster)), back)


@cluster_view(Action.CHANGE_ACCOUNTS)
@_keeping_what_was_typed
def coordinators(request: HttpRequest, door: Door, account: str) -> HttpResponse:
    book = book_of(door.cluster)
    account_in(book, account)
    form = CoordinatorsForm(request.POST or None, account=account, before=book.coordinators_of(account))
    return _form_step(request, door, form, lambda: deeds.changing_coordinators(book, form), "accounts")


@cluster_view(Action.CHANGE_ACCOUNTS)
@_keeping_what_was_typed
def add_member(request: HttpRequest, door: Door, account: str) -> HttpResponse:
    book, partitions = book_of(door.cluster), partitions_of(door.cluster)
    account_in(book, account)
    form = MemberForm(request.POST or None, book=book, account=account, partitions=partitions)
    return _form_step(request, door, form, lambda: deeds.adding_member(book, form, partitions), "accounts")


@cluster_view(Action.CHANGE_ACCOUNTS)
@_keeping_what_was_typed
def edit_member(request: HttpRequest, door: Door, account: str, user: str) -> HttpResponse:
    book = book_of(door.cluster)
    before = member_in(book, account, user, _partition(request))
    begun = begun_association(before)
    form = MemberForm(request.POST or None, book=book, account=account, before=before, initial=begun)
    return _form_step(request, door, form, lambda: deeds.changing_member(book, form), "accounts")


@cluster_view(Action.CHANGE_ACCOUNTS)
def remove_member(request: HttpRequest, door: Door, account: str, user: str) -> HttpResponse:
    book = book_of(door.cluster)
    own = member_in(book, account, user, _partition(request))
    deed = deeds.removing_member(book, own, in_use(door.cluster))
    return _removal(request, door, deed, _back(request, door, "accounts"), of=own.partition)


@cluster_view(Action.CHANGE_ACCOUNTS)
def remove_user(request: HttpRequest, door: Door, user: str) -> HttpResponse:
    book = book_of(door.cluster)
    user_in(book, user)
    deed = deeds.removing_user(book, user, in_use(door.cluster))
    return _removal(request, door, deed, reverse("account-users", kwargs=_where(door)))


@cluster_view(Action.CHANGE_ACCOUNTS)
@_keeping_what_was_typed
def add_qos(request: HttpRequest, door: Door) -> HttpResponse:
    book = book_of(door.cluster)
    form = QosForm(request.POST or None, book=book)
    return _form_step(request, door, form, lambda: deeds.adding_qos(book, form), "qos")


@cluster_view(Action.CHANGE_ACCOUNTS)
@_keeping_what_was_typed
def edit_qos(request: HttpRequest, door: Door, qos: str) -> HttpResponse:
    book = book_of(door.cluster)
    before = qos_in(book, qos)
    form = QosForm(request.POST or None, book=book, before=before, initial=begun_qos(before))
    return _form_step(request, door, form, lambda: deeds.changing_qos(book, form), "qos")


@cluster_view(Action.CHANGE_ACCOUNTS)
def remove_qos(request: HttpRequest, door: Door, qos: str) -> HttpResponse:
    book = book_of(door.cluster)
    qos_in(book, qos)
    deed = deeds.removing_qos(book, qos, in_use(door.cluster))
    return _removal(request, door, deed, _back(request, door, "qos"))


def _form_step(
    request: HttpRequest, door: Door, form: LimitsForm, deed: Callable[[], Deed], home: str
) -> HttpResponse:
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "form": form,
        "back": _back(request, door, home),
    }
    if request.method != "POST":
        form.cleaned_data = {}
        return render_dialog(request, form.template, {**context, "title": deed().title})
    form.join_meanwhile()
    is_readable = form.is_valid()
    found = deed()
    context["title"] = found.title
    if request.POST.get("stage") == "edit":
        return render_dialog(request, form.template, context)
    if is_readable:
        form.show_problems(found.problems)
    plan = found.plan() if not form.errors else ()
    if not form.errors and not plan:
        form.add_error(None, "Nothing would change.")
    if form.errors:
        return render_dialog(request, form.template, context, status=422)
    if request.POST.get("stage") != "apply":
        return _preview(request, context, plan)
    try:
        require_seal(plan, request.POST.get("seal", ""))
    except Conflict as error:
        return _preview(request, context, plan, error)
    return _run(request, door, found, plan, form.template, context)


def _run(
    request: HttpRequest, door: Door, deed: Deed, plan: Plan, template: str, context: dict[str, object]
) -> HttpResponse:
    try:
        carry_out(door, deed.verb, deed.target, plan)
    except ConsoleError as error:
        form = context.get("form")
        if isinstance(form, LimitsForm) and isinstance(error, Rejected):
            form.show_problems([one for one in error.problems if one.path in form.fields])
        return render_dialog(request, template, {**context, "error": error}, status=error.status)
    messages.success(request, deed.said)
    return close_dialog(request, str(context["back"]))


def _preview(
    request: HttpRequest, context: dict[str, object], plan: Plan, error: ConsoleError | None = None
) -> HttpResponse:
    shown = {**context, "plan": plan, "seal": seal(plan), "error": error}
    return render_dialog(request, "slurm/account_preview.html", shown, status=error.status if error else 200)


def _removal(request: HttpRequest, door: Door, deed: Deed, back: str, *, of: str = "") -> HttpResponse:
    """The commands at once, or why not: there is no form. `of` is the partition of what goes, if it has one."""
    reasons = [problem.message for problem in deed.problems]
    plan = () if reasons else deed.plan()
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "title": deed.title,
        "reasons": reasons,
        "plan": plan,
        "seal": seal(plan),
        "lost": deed.lost,
        "of": of,
        "back": back,
    }
    template = "slurm/account_removal.html"
    if request.method != "POST":
        return render_dialog(request, template, context)
    if reasons:
        return render_dialog(request, template, context, status=409)
    try:
        require_seal(plan, request.POST.get("seal", ""))
    except Conflict as error:
        return render_dialog(request, template, {**context, "error": error}, status=error.status)
    return _run(request, door, deed, plan, template, context)


def _partition(request: HttpRequest) -> str:
    """Of the association that is meant; empty for the one in all partitions."""
    return request.POST.get("of") or request.GET.get("partition", "")


def _back(request: HttpRequest, door: Door, home: str) -> str:
    """The page of the accounting that the dialog was opened over, else the list."""
    where = _where(door)
    return opened_over(request, reverse("accounting", kwargs=where), reverse(home, kwargs=where))


def _where(door: Door) -> dict[str, str]:
    return {"team": door.cluster.team.slug, "cluster": door.cluster.slug}
