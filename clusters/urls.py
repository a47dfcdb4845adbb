"""Pages of a team's clusters, below /t/<team>/."""

from django.urls import path

from clusters.views import changes, clusters, create, objects

urlpatterns = [
    path("", clusters.clusters, name="clusters"),
    path("clusters/new/", create.create, name="cluster-new"),
    path("clusters/new/preview/", create.preview, name="cluster-preview"),
    path("c/<slug:cluster>/changes/", changes.changes, name="changes"),
    path("c/<slug:cluster>/changes/<int:number>/", changes.change, name="change"),
    path("c/<slug:cluster>/changes/<int:number>/objects/", objects.objects, name="change-objects"),
    path("c/<slug:cluster>/changes/<int:number>/rollback/", changes.rollback, name="rollback"),
    path(
        "c/<slug:cluster>/changes/<int:number>/cancellation/",
        changes.cancellation,
        name="change-cancellation",
    ),
]
