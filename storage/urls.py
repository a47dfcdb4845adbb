"""Pages of volumes and mounts, below /t/<team>/."""

from django.urls import path

from storage.views import mounts, volumes

urlpatterns = [
    path("volumes/", volumes.volumes, name="volumes"),
    path("volumes/new/", volumes.add, name="volume-new"),
    path("volumes/<slug:volume>/growth/", volumes.growth, name="volume-growth"),
    path("volumes/<slug:volume>/name/", volumes.name, name="volume-name"),
    path("volumes/<slug:volume>/deletion/", volumes.deletion, name="volume-deletion"),
    path("c/<slug:cluster>/volumes/", mounts.tab, name="cluster-volumes"),
    path("c/<slug:cluster>/volumes/mount/", mounts.mount, name="mount-new"),
    path("c/<slug:cluster>/volumes/<slug:volume>/removal/", mounts.unmount, name="mount-removal"),
]
