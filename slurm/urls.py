"""Pages of what Slurm knows, below /t/<team>/c/<cluster>/."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
