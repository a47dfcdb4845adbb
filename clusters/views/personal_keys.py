"""One's own SSH keys, on the profile page: the two dialogs. Nobody sees or changes another person's."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import personal_keys
from clusters.login_forms import KeyForm
from console.access import SIGNED_IN, declares
from console.dialog import form_dialog
from console.models import User
from console.page import close_dialog, render_dialog


@declares(SIGNED_IN)
def add(request: HttpRequest) -> HttpResponse:
    user = _me(request)
    form = KeyForm(request.POST or None)
    context: dict[str, object] = {"back": _back(), "clusters": personal_keys.clusters_of(user)}

    def act() -> str:
        personal_keys.add(user, form.cleaned_data["line"])
        return _back()

    return form_dialog(request, "clusters/personal_key_new.html", context, form, act)


@declares(SIGNED_IN)
def remove(request: HttpRequest, number: int) -> HttpResponse:
    user = _me(request)
    key = personal_keys.key_of(user, number)
    if request.method != "POST":
        context = {"key": key, "back": _back(), "clusters": personal_keys.clusters_of(user)}
        return render_dialog(request, "clusters/personal_key_removal.html", context)
    personal_keys.remove(user, number)
    return close_dialog(request, _back())


def _back() -> str:
    return reverse("profile")


def _me(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "LoginRequiredMiddleware lets nobody else through"
    return request.user
