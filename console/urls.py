"""Every page and API route. Nouns; a verb becomes a sub-resource."""

from django.contrib import admin
from django.urls import include, path

from console import views
from slurm.views.jobs import team_jobs
from slurm.views.nodes import team_nodes

urlpatterns = [
    path("", views.home, name="home"),
    path("sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("sign-out/", views.SignOut.as_view(), name="sign-out"),
    path("t/<slug:team>/", include("clusters.urls")),
    path("t/<slug:team>/jobs/", team_jobs, name="team-jobs"),
    path("t/<slug:team>/nodes/", team_nodes, name="team-nodes"),
    path("t/<slug:team>/c/<slug:cluster>/", include("slurm.urls")),
    path("api/", include("console.api")),
    path("admin/", admin.site.urls),
]
