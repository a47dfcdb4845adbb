"""The API's routes, put together from each app's own."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

urlpatterns = [
    # The API answers for itself who is signed in: 401 with a problem document, never a redirect to a form.
    path("v1/", include("clusters.api.urls")),
    path("v1/", include("slurm.api.urls")),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    # Split: the page's policy allows no script in the page itself.
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="console/api_docs.html"),
        name="api-docs",
    ),
]
