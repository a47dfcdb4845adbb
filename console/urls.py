"""Every page and API route. Nouns; a verb becomes a sub-resource."""

from django.contrib import admin
from django.urls import include, path

from console.views import activity, health, members, profile, sign_in
from slurm.views.jobs import team_jobs
from slurm.views.nodes import team_nodes

urlpatterns = [
    path("", sign_in.home, name="home"),
    path("sign-in/", sign_in.SignIn.as_view(), name="sign-in"),
    path("sign-out/", sign_in.SignOut.as_view(), name="sign-out"),
    path("profile/", profile.profile, name="profile"),
    path("profile/tokens/new/", profile.new_token, name="token-new"),
    path("profile/tokens/<int:number>/revocation/", profile.token_revocation, name="token-revocation"),
    path("healthz", health.health, name="health"),
    path("regions/", include("clusters.region_urls")),
    path("t/<slug:team>/", include("clusters.urls")),
    path("t/<slug:team>/members/", members.members, name="members"),
    path("t/<slug:team>/members/add/", members.add_member, name="member-add"),
    path("t/<slug:team>/members/role/", members.member_role, name="member-role"),
    path("t/<slug:team>/members/removal/", members.member_removal, name="member-removal"),
    path("t/<slug:team>/activity/", activity.activity, name="activity"),
    path("t/<slug:team>/activity.csv", activity.activity_sheet, name="activity-sheet"),
    path("t/<slug:team>/activity.jsonl", activity.activity_lines, name="activity-lines"),
    path("t/<slug:team>/jobs/", team_jobs, name="team-jobs"),
    path("t/<slug:team>/nodes/", team_nodes, name="team-nodes"),
    path("t/<slug:team>/c/<slug:cluster>/", include("slurm.urls")),
    path("api/", include("console.api")),
    path("admin/", admin.site.urls),
]
