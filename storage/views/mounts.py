"""The Volumes tab of a cluster: what it mounts, what it could, and the two changes."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import impacts, promises
from clusters.access import Door, cluster_view
from clusters.acts import Edit
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Cluster
from clusters.mount_rules import mount_problems
from clusters.spec import Mount
from clusters.views.changes import change_url, number_of
from clusters.views.confirm import confirm
from clusters.views.frame import why_not
from clusters.views.start import start_of
from console.dialog import form_dialog
from console.errors import Conflict, Missing
from console.page import render_page
from console.roles import Action
from storage import mounts as acts
from storage.forms import MountForm
from storage.kinds import may_be_mounted
from storage.listing import mountable, mounts_of, rows_of

# What each machine has for itself where no volume is mounted.
OWN = ("/root", "/home", "/tmp", "/dev/shm")


@cluster_view(Action.VIEW)
def tab(request: HttpRequest, door: Door) -> HttpResponse:
    cluster = door.cluster
    rows = rows_of(cluster.team)
    context = {
        **_about(door),
        "mounts": mounts_of(cluster, rows),
        "others": mountable(cluster, rows),
        "caveat": _caveat(cluster),
        "own": [place for place in OWN if place not in {mount.path for mount in cluster.spec.mounts}],
        "why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
        "can_make": door.may(Action.CHANGE_VOLUMES),
    }
    return render_page(request, "storage/cluster_volumes.html", context)


@cluster_view(Action.CHANGE_CLUSTER)
def mount(request: HttpRequest, door: Door) -> HttpResponse:
    """GET with a volume and a path in the query shows what mounting it there would do; POST asks for the change."""
    cluster = _allowed(door)
    volumes = [r.volume for r in mountable(cluster, rows_of(cluster.team)) if may_be_mounted(r.volume.status)]
    if not volumes:
        hint = "Make one on the team's Volumes page, or see there why those that there are cannot be mounted."
        raise Conflict(f"There is no volume in {cluster.region.slug} that {cluster.slug} could mount.", hint)
    begun = {"base": _current(cluster), "volume": volumes[0].slug, **request.GET.dict()}
    begun.setdefault("path", f"/{begun['volume']}")
    form = MountForm(request.POST or None, initial=begun, volumes=volumes)
    wanted = _wanted(form)
    after = acts.with_mount(cluster.spec, wanted) if wanted else cluster.spec
    problems = [one for one in mount_problems(after.mounts) if wanted]
    impact = impacts.preview(cluster, Edit(cluster.spec, after)) if wanted and not problems else None
    context = {
        **_about(door),
        "impact": impact,
        "is_dataset": bool(wanted and form.chosen_is_dataset),
        "start_at": request.POST.get("start_at", ""),
        "when": request.POST.get("when", ""),
    }
    if request.method != "POST":
        context["path_problem"] = next((one for one in problems if one.path.endswith("path")), None)

    def act() -> str:
        if impact:
            promises.keep(request.POST.get("promise", ""), impact)
        base, start_at = form.cleaned_data["base"], start_of(request.POST)
        assert wanted is not None, "a right form has a volume and a path"
        return change_url(acts.mount(door, wanted, base=base, start_at=start_at))

    return form_dialog(request, "storage/mount.html", context, form, act)


@cluster_view(Action.CHANGE_CLUSTER)
def unmount(request: HttpRequest, door: Door, volume: str) -> HttpResponse:
    """`volume` is its key: the volume itself may be gone."""
    cluster = _allowed(door)
    spec = cluster.spec
    context = {
        **_about(door),
        "mount": acts.mounted(spec, volume),
        "base_number": request.POST.get("base") or _current(cluster),
    }
    return confirm(
        request,
        "storage/unmount.html",
        context,
        lambda: acts.unmount(
            door, volume, base=number_of(request.POST.get("base")), start_at=start_of(request.POST)
        ),
        change_url,
        impact=impacts.preview(cluster, Edit(spec, acts.without(spec, volume))),
    )


def _wanted(form: MountForm) -> Mount | None:
    """What is typed so far, when it is a volume and some path."""
    volume, path = form.chosen, str(form["path"].value() or "").strip()
    if volume is None or not path:
        return None
    return acts.mount_of(volume, path, read_only=bool(form["read_only"].value()))


def _caveat(cluster: Cluster) -> str:
    try:
        return cluster.region.platform.mount_caveat()
    except Missing:  # of a platform that this console does not have
        return ""


def _allowed(door: Door) -> Cluster:
    """Raises Conflict before a dialog is shown for what the cluster's status forbids."""
    if why := refusal(Status(door.cluster.status), Step.CHANGE):
        raise Conflict(why, "Its page shows what it allows now.")
    return door.cluster


def _current(cluster: Cluster) -> int:
    return cluster.revision.number if cluster.revision else 0


def _about(door: Door) -> dict[str, object]:
    cluster = door.cluster
    where = {"team": cluster.team.slug, "cluster": cluster.slug}
    return {
        "door": door,
        "cluster": cluster,
        "tab": "cluster-volumes",
        "back": reverse("cluster-volumes", kwargs=where),
    }
