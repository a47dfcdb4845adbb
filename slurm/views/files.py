"""The login node's files: the browser (a page, and the panel beside the terminal), a text, and the dialogs.

Every path is in the address, percent-encoded (`slurm.files.paths`), so that a folder can be linked to. What moves bytes
is the API (`slurm.api.files`) and `static/js/files.js`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from console.errors import ConsoleError, Rejected
from console.page import close_dialog_telling, render_dialog, render_region
from console.roles import Action
from slurm.files.acts import MOST_SHOWN, LoginFiles
from slurm.files.entries import Entry, Folder
from slurm.files.paths import check_name, joined, name_of, parent, query_path, quoted, shown

CHANGED = "files:changed"
SORTS: dict[str, Callable[[Entry], object]] = {
    "size": lambda entry: -entry.size,
    "modified": lambda entry: -entry.modified,
}


@dataclass(frozen=True)
class Crumb:
    name: str
    address: str


@dataclass(frozen=True)
class Start:
    """A folder to begin at: the home, or where a volume is mounted."""

    name: str
    address: str
    icon: str


@cluster_view(Action.TERMINAL)
def files(request: HttpRequest, door: Door) -> HttpResponse:
    """`?path=` the folder, else the home; `hidden=1` with names that begin with a dot; `sort=`."""
    is_all = request.GET.get("hidden") == "1"
    sort = request.GET.get("sort", "")
    context = {**_frame(door), "tab": "files", "is_all": is_all, "sort": sort if sort in SORTS else ""}
    path = _path(request, b"")
    try:
        reached = LoginFiles(door)
        home = reached.home()
        context["places"] = _starts(door, home)
        context |= _shown(reached.folder(path or home), sort, is_all=is_all)
    except ConsoleError as error:
        context |= {"error": error, "here": _place(path) if path else None, "crumbs": _crumbs(path)}
    return render_region(request, "slurm/files.html", "slurm/_files.html", context)


@cluster_view(Action.TERMINAL)
def text(request: HttpRequest, door: Door) -> HttpResponse:
    """A file as text; what is none is offered as a download."""
    path = _path(request)
    context = {**_frame(door), "here": _place(path), "back": _address(door, parent(path)), "most": MOST_SHOWN}
    try:
        found = LoginFiles(door).text(path)
        return render_dialog(request, "slurm/file_text.html", {**context, "found": found})
    except ConsoleError as error:
        return render_dialog(
            request, "slurm/file_text.html", {**context, "error": error}, status=error.status
        )


@cluster_view(Action.TERMINAL)
def rename(request: HttpRequest, door: Door) -> HttpResponse:
    path = _path(request)
    typed = request.POST.get("name", shown(name_of(path)))

    def act() -> None:
        LoginFiles(door).rename(path, joined(parent(path), check_name(typed.encode())))

    return _step(request, door, "slurm/file_rename.html", path, act, {"typed": typed})


@cluster_view(Action.TERMINAL)
def delete(request: HttpRequest, door: Door) -> HttpResponse:
    path = _path(request)
    entry = LoginFiles(door).entry(path)
    recursive = request.POST.get("contents") == "1"

    def act() -> None:
        LoginFiles(door).remove(path, recursive=recursive)

    return _step(request, door, "slurm/file_delete.html", path, act, {"entry": entry, "contents": recursive})


@cluster_view(Action.TERMINAL)
def make_folder(request: HttpRequest, door: Door) -> HttpResponse:
    """`?path=` is the folder that it is made in."""
    path = _path(request)
    typed = request.POST.get("name", "")

    def act() -> None:
        LoginFiles(door).make_folder(joined(path, check_name(typed.encode())))

    return _step(request, door, "slurm/file_folder.html", path, act, {"typed": typed}, folder=path)


def _step(
    request: HttpRequest,
    door: Door,
    template: str,
    path: bytes,
    act: Callable[[], None],
    context: dict[str, object],
    *,
    folder: bytes | None = None,
) -> HttpResponse:
    """Show the dialog; on POST do it and look at the folder again, or say why it was refused."""
    back = _address(door, parent(path) if folder is None else folder)
    context = {**_frame(door), "here": _place(path), "back": back, **context}
    if request.method != "POST":
        return render_dialog(request, template, context)
    try:
        act()
    except ConsoleError as error:
        where = "problems" if isinstance(error, Rejected) else "error"
        context[where] = error.problems if isinstance(error, Rejected) else error
        return render_dialog(request, template, context, status=error.status)
    return close_dialog_telling(request, CHANGED, back)


def _frame(door: Door) -> dict[str, object]:
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug}
    return {"door": door, "cluster": door.cluster, "api": reverse("api-files", kwargs=where)}


def _shown(folder: Folder, sort: str, *, is_all: bool) -> dict[str, object]:
    listed = [entry for entry in folder.entries if is_all or not entry.is_hidden]
    if sort in SORTS:
        listed.sort(key=SORTS[sort])  # type: ignore[arg-type]  # numbers all
    return {
        "here": _place(folder.path),
        "crumbs": _crumbs(folder.path),
        "up": _place(parent(folder.path)) if folder.path != b"/" else None,
        "entries": listed,
        "hidden_count": len(folder.entries) - len(listed),
        "is_cut": folder.is_cut,
    }


def _starts(door: Door, home: bytes) -> list[Start]:
    volumes = [
        Start(mount.name, quoted(mount.path.encode()), "database") for mount in door.cluster.spec.mounts
    ]
    return [Start("Home", quoted(home), "home"), *volumes]


def _crumbs(path: bytes) -> list[Crumb]:
    """The way from the root; the root itself is drawn as a slash."""
    names = [name for name in path.split(b"/") if name]
    return [Crumb(shown(name), quoted(b"/" + b"/".join(names[: at + 1]))) for at, name in enumerate(names)]


def _place(path: bytes) -> Crumb:
    return Crumb(shown(path), quoted(path))


def _path(request: HttpRequest, otherwise: bytes | None = None) -> bytes:
    return query_path(str(request.META.get("QUERY_STRING", "")), otherwise=otherwise)


def _address(door: Door, folder: bytes) -> str:
    page = reverse("files", kwargs={"team": door.cluster.team.slug, "cluster": door.cluster.slug})
    return f"{page}?path={quoted(folder)}"
