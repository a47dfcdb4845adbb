"""Pages of what Slurm knows, below /t/<team>/c/<cluster>/."""

from django.urls import path

from slurm.views import terminal

urlpatterns = [
    path("terminal/", terminal.terminal, name="terminal"),
]
