"""Routes of the API of teams, their people, clusters and changes, below /api/v1/."""

from django.urls import path

from clusters.api import changes, clusters, people, regions

CLUSTER = "teams/<slug:team>/clusters/<slug:cluster>"

urlpatterns = [
    path("regions", regions.Regions.as_view(), name="api-regions"),
    path("regions/<slug:region>", regions.RegionDetail.as_view(), name="api-region"),
    path("regions/<slug:region>/readiness", regions.Readiness.as_view(), name="api-region-readiness"),
    path("tokens", people.Tokens.as_view(), name="api-tokens"),
    path("teams", clusters.Teams.as_view(), name="api-teams"),
    path("teams/<slug:team>/clusters", clusters.Clusters.as_view(), name="api-clusters"),
    path("teams/<slug:team>/members", people.Members.as_view(), name="api-members"),
    path("teams/<slug:team>/members/<str:member>", people.Member.as_view(), name="api-member"),
    path("teams/<slug:team>/activity", people.Activity.as_view(), name="api-activity"),
    path(CLUSTER, clusters.ClusterDetail.as_view(), name="api-cluster"),
    path(f"{CLUSTER}/actions/reconfigure", clusters.Reconfigure.as_view(), name="api-reconfigure"),
    path(f"{CLUSTER}/actions/scale", clusters.Scale.as_view(), name="api-scale"),
    path(f"{CLUSTER}/actions/terminate", clusters.Terminate.as_view(), name="api-terminate"),
    path(f"{CLUSTER}/actions/delete", clusters.Delete.as_view(), name="api-delete"),
    path(f"{CLUSTER}/changes", changes.Changes.as_view(), name="api-changes"),
    path(f"{CLUSTER}/changes/<int:number>", changes.ChangeDetail.as_view(), name="api-change"),
    path(f"{CLUSTER}/changes/<int:number>/cancel", changes.Cancel.as_view(), name="api-change-cancel"),
    path(f"{CLUSTER}/changes/<int:number>/objects", changes.ChangeObjects.as_view(), name="api-change-objects"),
    path(f"{CLUSTER}/revisions", changes.Revisions.as_view(), name="api-revisions"),
    path(f"{CLUSTER}/revisions/<int:number>/rollback", changes.Rollback.as_view(), name="api-rollback"),
]
