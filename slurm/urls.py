"""Pages of what Slurm knows, below /t/<team>/c/<cluster>/."""

from django.urls import path

from slurm.views import nodes, overview

urlpatterns = [
    path("", overview.overview, name="cluster"),
    path("nodes/", nodes.nodes, name="nodes"),
    path("nodes/<str:name>/", nodes.node, name="node"),
]
