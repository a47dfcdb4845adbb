"""Pages of regions, below /regions/."""

from django.urls import path

from clusters.views import region_forms, regions

urlpatterns = [
    path("", regions.regions, name="regions"),
    path("new/", region_forms.register, name="region-new"),
    path("new/<slug:provisioner>/<str:document>", regions.draft_document, name="region-draft-document"),
    path("<slug:region>/", regions.region, name="region"),
    path("<slug:region>/settings/", region_forms.region_settings, name="region-settings"),
    path("<slug:region>/credentials/", region_forms.region_credentials, name="region-credentials"),
    path("<slug:region>/standing/", regions.region_standing, name="region-standing"),
    path("<slug:region>/check/", regions.region_check, name="region-check"),
    path("<slug:region>/documents/<str:document>", regions.region_document, name="region-document"),
]
