"""Pages of a team's clusters, below /t/<team>/."""

from django.urls import path

from clusters.views import changes, cluster_keys, clusters, create, grants, homes, logins, objects

urlpatterns = [
    path("", clusters.clusters, name="clusters"),
    path("clusters/new/", create.create, name="cluster-new"),
    path("clusters/new/preview/", create.preview, name="cluster-preview"),
    path("c/<slug:cluster>/people/", grants.people, name="cluster-people"),
    path("c/<slug:cluster>/people/grant/", grants.give, name="grant-give"),
    path("c/<slug:cluster>/people/withdrawal/", grants.withdraw, name="grant-withdraw"),
    path("c/<slug:cluster>/users/", logins.tab, name="logins"),
    path("c/<slug:cluster>/users/settings/", logins.settings, name="login-settings"),
    path("c/<slug:cluster>/users/new/", logins.add, name="login-new"),
    path("c/<slug:cluster>/users/of/<str:login>/", logins.edit, name="login-edit"),
    path("c/<slug:cluster>/users/of/<str:login>/removal/", logins.remove, name="login-removal"),
    path("c/<slug:cluster>/users/keys/new/", cluster_keys.add, name="cluster-key-new"),
    path("c/<slug:cluster>/users/keys/removal/", cluster_keys.remove, name="cluster-key-removal"),
    path("c/<slug:cluster>/homes/", homes.homes, name="homes"),
    path("c/<slug:cluster>/changes/", changes.listing, name="changes"),
    path("c/<slug:cluster>/changes/<int:number>/", changes.change, name="change"),
    path("c/<slug:cluster>/changes/<int:number>/objects/", objects.objects, name="change-objects"),
    path("c/<slug:cluster>/changes/<int:number>/rollback/", changes.rollback, name="rollback"),
    path(
        "c/<slug:cluster>/changes/<int:number>/confirmation/",
        changes.confirmation,
        name="change-confirmation",
    ),
    path("c/<slug:cluster>/changes/<int:number>/force/", changes.forcing, name="change-force"),
    path(
        "c/<slug:cluster>/changes/<int:number>/cancellation/",
        changes.cancellation,
        name="change-cancellation",
    ),
]
