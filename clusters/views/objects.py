"""The second look at a change, for those who may change the cluster: what of the platform's objects differs."""

from django.http import HttpRequest, HttpResponse

from clusters.access import Door, cluster_view
from clusters.renderings import changed_files
from clusters.views.changes import find_change
from console.page import render_page
from console.roles import Action


@cluster_view(Action.CHANGE_CLUSTER)
def objects(request: HttpRequest, door: Door, number: int) -> HttpResponse:
    found = find_change(door, number)
    context = {
        "door": door,
        "cluster": door.cluster,
        "tab": "changes",
        "change": found,
        "may_see_objects": True,
        "files": changed_files(found),
    }
    return render_page(request, "clusters/change_objects.html", context)
