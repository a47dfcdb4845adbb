"""Pages of a team's clusters, below /t/<team>/."""

from django.urls import path

from clusters.views import changes, clusters

urlpatterns = [
    path("", clusters.clusters, name="clusters"),
    path("c/<slug:cluster>/changes/", changes.changes, name="changes"),
    path("c/<slug:cluster>/changes/<int:number>/", changes.change, name="change"),
]
