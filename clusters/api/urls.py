"""Routes of the API of teams, their people, clusters and changes, below /api/v1/."""

from django.urls import path

from clusters.api import changes, clusters, grants, logins, people, personal_keys, previews, regions

CLUSTER = "teams/<slug:team>/clusters/<slug:cluster>"

urlpatterns = [
    path("regions", regions.Regions.as_view(), name="api-regions"),
    path("regions/<slug:region>", regions.RegionDetail.as_view(), name="api-region"),
    path("regions/<slug:region>/readiness", regions.Readiness.as_view(), name="api-region-readiness"),
    path("ssh-keys", personal_keys.Keys.as_view(), name="api-ssh-keys"),
    path("ssh-keys/<int:number>", personal_keys.OneKey.as_view(), name="api-ssh-key"),
    path("sessions", people.Sessions.as_view(), name="api-sessions"),
    path("tokens", people.Tokens.as_view(), name="api-tokens"),
    path("teams", clusters.Teams.as_view(), name="api-teams"),
    path("teams/<slug:team>/clusters", clusters.Clusters.as_view(), name="api-clusters"),
    path("teams/<slug:team>/members", people.Members.as_view(), name="api-members"),
    path("teams/<slug:team>/members/<str:member>", people.Member.as_view(), name="api-member"),
    path(
        "teams/<slug:team>/members/<str:member>/slurm-users",
        people.SlurmUsers.as_view(),
        name="api-slurm-users",
    ),
    path("teams/<slug:team>/membership", people.Own.as_view(), name="api-membership"),
    path("teams/<slug:team>/owner", people.Owner.as_view(), name="api-owner"),
    path("teams/<slug:team>/invitations", people.Invitations.as_view(), name="api-invitations"),
    path("teams/<slug:team>/invitations/<int:number>", people.OneInvitation.as_view(), name="api-invitation"),
    path("teams/<slug:team>/activity", people.Activity.as_view(), name="api-activity"),
    path(CLUSTER, clusters.ClusterDetail.as_view(), name="api-cluster"),
    path(f"{CLUSTER}/actions/reconfigure", clusters.Reconfigure.as_view(), name="api-reconfigure"),
    path(f"{CLUSTER}/actions/scale", clusters.Scale.as_view(), name="api-scale"),
    path(f"{CLUSTER}/actions/terminate", clusters.Terminate.as_view(), name="api-terminate"),
    path(f"{CLUSTER}/actions/delete", clusters.Delete.as_view(), name="api-delete"),
    path(f"{CLUSTER}/clone", clusters.Clone.as_view(), name="api-clone"),
    path(f"{CLUSTER}/login-users", logins.LoginUsers.as_view(), name="api-login-users"),
    path(f"{CLUSTER}/login-users/<str:login>", logins.OneLoginUser.as_view(), name="api-login-user"),
    path(f"{CLUSTER}/login-settings", logins.Settings.as_view(), name="api-login-settings"),
    path(f"{CLUSTER}/ssh-keys", logins.ClusterKeys.as_view(), name="api-cluster-keys"),
    path(f"{CLUSTER}/people", grants.People.as_view(), name="api-cluster-people"),
    path(f"{CLUSTER}/people/<str:member>", grants.Person.as_view(), name="api-grant"),
    path(f"{CLUSTER}/changes:preview", previews.ChangePreview.as_view(), name="api-change-preview"),
    path(f"{CLUSTER}/homes", previews.Homes.as_view(), name="api-homes"),
    path(f"{CLUSTER}/operations:preview", previews.OperationPreview.as_view(), name="api-operation-preview"),
    path(f"{CLUSTER}/changes", changes.Changes.as_view(), name="api-changes"),
    path(f"{CLUSTER}/changes/<int:number>", changes.ChangeDetail.as_view(), name="api-change"),
    path(f"{CLUSTER}/changes/<int:number>/confirm", changes.Confirm.as_view(), name="api-change-confirm"),
    path(f"{CLUSTER}/changes/<int:number>/force", changes.Force.as_view(), name="api-change-force"),
    path(f"{CLUSTER}/changes/<int:number>/cancel", changes.Cancel.as_view(), name="api-change-cancel"),
    path(
        f"{CLUSTER}/changes/<int:number>/objects", changes.ChangeObjects.as_view(), name="api-change-objects"
    ),
    path(f"{CLUSTER}/revisions", changes.Revisions.as_view(), name="api-revisions"),
    path(f"{CLUSTER}/revisions/<int:number>/rollback", changes.Rollback.as_view(), name="api-rollback"),
]
