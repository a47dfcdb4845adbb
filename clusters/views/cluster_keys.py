"""The SSH keys of a cluster itself: they sign in as root, or as the console's user. Each act is a change."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import changes, impacts, promises
from clusters.access import Door, cluster_view
from clusters.acts import Edit
from clusters.lifecycle import Status, Step, refusal
from clusters.login_forms import ClusterKeyForm
from clusters.sshkeys import keys_in
from clusters.views.changes import change_url, number_of
from clusters.views.confirm import confirm
from clusters.views.start import start_of
from console.dialog import form_dialog
from console.errors import Conflict, Missing
from console.roles import Action

# Stands for the key that nobody has typed yet: what a further one does to the cluster does not depend on which it is.
ANY_KEY = "ssh-ed25519 AAAA"


@cluster_view(Action.CHANGE_CLUSTER)
def add(request: HttpRequest, door: Door) -> HttpResponse:
    context, spec = _about(door), door.cluster.spec
    form = ClusterKeyForm(request.POST or None, initial={"base": context["base_number"]})
    line = form.cleaned_data["line"] if form.is_valid() else ANY_KEY
    after = replace(spec, ssh_keys=(*spec.ssh_keys, line))
    impact = impacts.preview(door.cluster, Edit(spec, after))
    context |= {"impact": impact, "start_at": request.POST.get("start_at", "")}

    def act() -> str:
        promises.keep(request.POST.get("promise", ""), impact)
        change = changes.propose(
            door.cluster,
            after,
            base=form.cleaned_data["base"],
            by=door.membership,
            start_at=start_of(request.POST),
        )
        return change_url(change)

    return form_dialog(request, "clusters/cluster_key_new.html", context, form, act)


@cluster_view(Action.CHANGE_CLUSTER)
def remove(request: HttpRequest, door: Door) -> HttpResponse:
    """`?fingerprint=` says which."""
    asked = request.POST.get("fingerprint") or request.GET.get("fingerprint", "")
    spec, context = door.cluster.spec, _about(door)
    known = {key.fingerprint: (line, key) for line, key in keys_in(spec.ssh_keys)}
    if asked not in known:
        raise Missing(f"{door.cluster.slug} has no such key.", "Users & keys lists them all.")
    line, key = known[asked]
    after = replace(spec, ssh_keys=tuple(one for one in spec.ssh_keys if one != line))
    return confirm(
        request,
        "clusters/cluster_key_removal.html",
        {**context, "key": key, "base_number": request.POST.get("base") or context["base_number"]},
        lambda: changes.propose(
            door.cluster,
            after,
            base=number_of(request.POST.get("base")),
            by=door.membership,
            start_at=start_of(request.POST),
        ),
        change_url,
        impact=impacts.preview(door.cluster, Edit(spec, after)),
    )


def _about(door: Door) -> dict[str, object]:
    """Raises Conflict for what the cluster's status forbids."""
    cluster = door.cluster
    if why := refusal(Status(cluster.status), Step.CHANGE):
        raise Conflict(why, "Its page shows what it allows now.")
    where = {"team": cluster.team.slug, "cluster": cluster.slug}
    return {
        "door": door,
        "cluster": cluster,
        "tab": "logins",
        "back": reverse("logins", kwargs=where),
        "base_number": cluster.revision.number if cluster.revision else 0,
    }
