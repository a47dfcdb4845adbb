"""The Users & keys tab of a cluster: who signs in on its login node, and the changes of that."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import impacts, logins, promises
from clusters.access import Door, cluster_view
from clusters.acts import Edit
from clusters.impact import Impact
from clusters.lifecycle import Status, Step, refusal
from clusters.login_forms import AddForm, BasedForm, RemovalForm, SettingsForm, WishForm
from clusters.models import Change, Cluster
from clusters.platform import LoginsHere
from clusters.spec import ClusterSpec
from clusters.sshkeys import keys_in
from clusters.views.changes import change_url
from clusters.views.frame import why_not
from clusters.views.start import start_of
from clusters.when import When
from console.dialog import form_dialog
from console.errors import Conflict, Missing
from console.page import render_page
from console.roles import Action


@cluster_view(Action.VIEW)
def tab(request: HttpRequest, door: Door) -> HttpResponse:
    spec, here = door.cluster.spec, _here(door)
    context = {
        **_about(door),
        "logins": spec.logins,
        "rows": logins.rows_of(door.cluster) if spec.logins.on else (),
        "homes_on": next((one for one in spec.mounts if one.path == spec.logins.homes), None),
        "cluster_keys": [key for _, key in keys_in(spec.ssh_keys)],
        "here": here,
        "why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
    }
    return render_page(request, "clusters/logins.html", context)


@cluster_view(Action.CHANGE_CLUSTER)
def settings(request: HttpRequest, door: Door) -> HttpResponse:
    spec = _allowed(door).spec
    if (why := _here(door).why_not) and not spec.logins.on:
        raise Conflict(f"{door.cluster.region.slug} has no login users.", why)
    begun: dict[str, object] = {"base": _current(door), "on": True, "homes": spec.logins.homes}
    if "homes" in request.GET:  # the form asks what it would do
        begun |= {"on": "on" in request.GET, "homes": request.GET["homes"]}
    form = SettingsForm(request.POST or None, initial=begun, spec=spec)
    on, homes = bool(form["on"].value()), str(form["homes"].value() or "")

    def act(base: int, start_at: When) -> Change:
        return logins.switch(door, on=on, homes=homes, base=base, start_at=start_at)

    after = logins.switched(spec, on=on, homes=homes)
    moves = spec.logins.on and after.logins.on and after.logins.homes != spec.logins.homes
    return _dialog(request, door, "clusters/login_settings.html", form, after, act, {"moves": moves})


@cluster_view(Action.CHANGE_CLUSTER)
def add(request: HttpRequest, door: Door) -> HttpResponse:
    _allowed(door)
    logins.require_on(door.cluster)
    people = logins.candidates(door)
    if not people:
        hint = "Add people to the team on its People page, with the role of member at least."
        raise Conflict(f"Everybody who may open a terminal on {door.cluster.slug} has a login.", hint)
    begun = {"base": _current(door), "account": people[0].member.user.username, **request.GET.dict()}
    form = AddForm(request.POST or None, initial=begun, people=people)
    person = form.people.get(str(form["account"].value()))

    def act(base: int, start_at: When) -> Change:
        data = form.cleaned_data
        return logins.add(door, data["account"], data["name"], form.wish, base=base, start_at=start_at)

    after = logins.drafted(door.cluster, form.login, person, form.wish)
    has_keys = person is not None and person.ssh_keys.exists()
    return _dialog(request, door, "clusters/login_new.html", form, after, act, {"has_keys": has_keys})


@cluster_view(Action.CHANGE_CLUSTER)
def edit(request: HttpRequest, door: Door, login: str) -> HttpResponse:
    user = logins.user_of(_allowed(door), login)
    logins.require_on(door.cluster)
    begun = {"base": _current(door), "groups": " ".join(user.groups), "sudo": user.sudo}
    form = WishForm(request.POST or None, initial=begun)

    def act(base: int, start_at: When) -> Change:
        return logins.edit(door, login, form.wish, base=base, start_at=start_at)

    after = logins.drafted(door.cluster, login, None, form.wish)
    return _dialog(request, door, "clusters/login_edit.html", form, after, act, {"login": user})


@cluster_view(Action.CHANGE_CLUSTER)
def remove(request: HttpRequest, door: Door, login: str) -> HttpResponse:
    """GET with `jobs` and `home` in the query shows what that would do."""
    user = logins.user_of(_allowed(door), login)
    logins.require_on(door.cluster)
    form = RemovalForm(
        request.POST or None,
        initial={"base": _current(door), "jobs": "run", "home": "keep", **request.GET.dict()},
    )
    wanted = {"jobs": str(form["jobs"].value()), "home": str(form["home"].value())}

    def act(base: int, start_at: When) -> Change:
        return logins.remove(door, login, **wanted, base=base, start_at=start_at)

    after = logins.removed(door.cluster.spec, user, **wanted)
    jobs = door.cluster.jobs.filter(is_finished=False, user=login)
    more = {
        "login": user,
        "running": jobs.exclude(nodes="").count(),
        "waiting": jobs.filter(nodes="").count(),
        "home": door.cluster.spec.logins.home_of(login),
    }
    return _dialog(request, door, "clusters/login_removal.html", form, after, act, more)


def _dialog(
    request: HttpRequest,
    door: Door,
    template: str,
    form: BasedForm,
    after: ClusterSpec,
    act: Callable[[int, When], Change],
    more: dict[str, object],
) -> HttpResponse:
    """Shows what it costs, and leads to the page of the change."""
    impact = _impact(door, after)
    context = {**_about(door), **more, "impact": impact, "here": _here(door)}
    context["start_at"] = request.POST.get("start_at", "")

    def keep_and_act() -> str:
        promises.keep(request.POST.get("promise", ""), impact)
        return change_url(act(form.cleaned_data["base"], start_of(request.POST)))

    return form_dialog(request, template, context, form, keep_and_act)


def _impact(door: Door, after: ClusterSpec) -> Impact:
    return impacts.preview(door.cluster, Edit(door.cluster.spec, after))


def _here(door: Door) -> LoginsHere:
    try:
        return door.cluster.region.platform.logins()
    except Missing:  # of a platform that this console does not have
        return LoginsHere()


def _allowed(door: Door) -> Cluster:
    """Raises Conflict before a dialog is shown for what the cluster's status forbids."""
    if why := refusal(Status(door.cluster.status), Step.CHANGE):
        raise Conflict(why, "Its page shows what it allows now.")
    return door.cluster


def _current(door: Door) -> int:
    return door.cluster.revision.number if door.cluster.revision else 0


def _about(door: Door) -> dict[str, object]:
    cluster = door.cluster
    where = {"team": cluster.team.slug, "cluster": cluster.slug}
    return {"door": door, "cluster": cluster, "tab": "logins", "back": reverse("logins", kwargs=where)}
