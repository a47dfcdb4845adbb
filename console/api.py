"""The API's routes, put together from each app's own."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request

from console.openapi import BearerScheme

__all__ = ["BearerScheme", "Schema", "urlpatterns"]


class Schema(SpectacularAPIView):
    """There is one version. The framework would take another from `?version=` and write it into a header."""

    def _get_version_parameter(self, request: Request) -> None:
        return None


urlpatterns = [
    # The API answers for itself who is signed in: 401 with a problem document, never a redirect to a form.
    path("v1/", include("clusters.api.urls")),
    path("v1/", include("storage.api.urls")),
    path("v1/", include("slurm.api.urls")),
    path("schema/", Schema.as_view(), name="schema"),
    # Split: the page's policy allows no script in the page itself.
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="console/api_docs.html"),
        name="api-docs",
    ),
]
