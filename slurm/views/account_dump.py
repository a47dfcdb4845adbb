"""The accounting database as a file: downloaded, and read in again after a look at what that would do."""

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from clusters.access import Door, cluster_view
from console.errors import ConsoleError, Rejected
from console.page import close_dialog, render_dialog, render_page
from console.roles import Action
from slurm.accounts.accounting import book_of, carry_out, dump_of, reading_of, require_seal, seal
from slurm.accounts.dump import MOST_BYTES, Reading
from slurm.views.account_frame import about

MOST_SHOWN = 200


class RestoreForm(forms.Form):
    """A file, or after the look at it, its text."""

    file = forms.FileField(
        label="File", required=False, help_text="A text file, as the download of Dump makes it"
    )
    text = forms.CharField(required=False, widget=forms.HiddenInput, max_length=MOST_BYTES, strip=False)


@cluster_view(Action.VIEW_ACCOUNTS)
def page(request: HttpRequest, door: Door) -> HttpResponse:
    return render_page(request, "slurm/account_dump.html", about(door, "account-dump"))


@require_GET
@cluster_view(Action.VIEW_ACCOUNTS)
def download(request: HttpRequest, door: Door) -> HttpResponse:
    """A text file. Audited: it holds everybody's accounts."""
    raw = dump_of(door)
    name = f"{door.cluster.slug}-accounts-{timezone.now():%Y%m%d-%H%M}.cfg"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(raw, content_type="text/plain; charset=utf-8", headers=headers)


@cluster_view(Action.CHANGE_ACCOUNTS)
def restore(request: HttpRequest, door: Door) -> HttpResponse:
    """Choose a file; see what it would do; read it in."""
    book = book_of(door.cluster)
    form = RestoreForm(request.POST or None, request.FILES or None)
    back = reverse("account-dump", kwargs={"team": door.cluster.team.slug, "cluster": door.cluster.slug})
    context: dict[str, object] = {"door": door, "cluster": door.cluster, "form": form, "back": back}
    template = "slurm/account_restore.html"
    if request.method != "POST":
        return render_dialog(request, template, context)
    try:
        text = _text(form)
        reading = reading_of(door.cluster, book, text)
        if request.POST.get("stage") != "apply":
            return _preview(request, context, text, reading)
        require_seal(reading.plan, request.POST.get("seal", ""))
        carry_out(door, "account.restore", book.cluster, reading.plan)
    except ConsoleError as error:
        return render_dialog(request, template, {**context, "error": error}, status=error.status)
    messages.success(request, "The file was read in.")
    return close_dialog(request, back)


def _preview(request: HttpRequest, context: dict[str, object], text: str, reading: Reading) -> HttpResponse:
    found = reading.differences
    shown: dict[str, object] = {"text": text, "plan": reading.plan, "seal": seal(reading.plan)}
    shown |= {"found": found[:MOST_SHOWN], "total": len(found)}
    return render_dialog(request, "slurm/account_restore.html", {**context, **shown})


def _text(form: RestoreForm) -> str:
    """What was uploaded. Raises Rejected."""
    if not form.is_valid():
        raise Rejected("The file could not be read.")
    sent = form.cleaned_data["file"]
    if not isinstance(sent, UploadedFile):
        if not form.cleaned_data["text"]:
            raise Rejected("Choose a file.")
        return str(form.cleaned_data["text"]).replace("\r\n", "\n")
    if (sent.size or 0) > MOST_BYTES:
        raise Rejected(f"The file is larger than {MOST_BYTES >> 20} MiB.")
    try:
        return bytes(sent.read()).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise Rejected("The file is no text in UTF-8.") from error
