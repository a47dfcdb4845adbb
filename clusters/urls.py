"""Pages of a team's clusters, below /t/<team>/."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
