"""Routes of the API of volumes and mounts, below /api/v1/."""

from django.urls import path

from storage.api import volumes

TEAM = "teams/<slug:team>"
VOLUME = f"{TEAM}/volumes/<slug:volume>"
CLUSTER = f"{TEAM}/clusters/<slug:cluster>"

urlpatterns = [
    path(f"{TEAM}/offers", volumes.Offers.as_view(), name="api-offers"),
    path(f"{TEAM}/volumes", volumes.Volumes.as_view(), name="api-volumes"),
    path(VOLUME, volumes.VolumeDetail.as_view(), name="api-volume"),
    path(f"{VOLUME}/actions/grow", volumes.Grow.as_view(), name="api-volume-grow"),
    path(f"{VOLUME}/actions/rename", volumes.Rename.as_view(), name="api-volume-rename"),
    path(f"{VOLUME}/actions/delete", volumes.Delete.as_view(), name="api-volume-delete"),
    path(f"{CLUSTER}/mounts", volumes.Mounts.as_view(), name="api-mounts"),
    path(f"{CLUSTER}/actions/mount", volumes.MountAction.as_view(), name="api-mount"),
    path(f"{CLUSTER}/actions/unmount", volumes.UnmountAction.as_view(), name="api-unmount"),
]
