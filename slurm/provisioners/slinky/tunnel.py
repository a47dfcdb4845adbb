"""A way to a login node that has no address of its own: through the API server's port-forward.

Named in `settings.TUNNELS`; called by the terminal's worker in a thread.
"""

import socket
from collections.abc import Mapping

from clusters.models import Region
from console.errors import Unavailable
from slurm.provisioners.slinky.region import settings_of
from slurm.provisioners.slinky.region_kube import kube_of


def open_tunnel(tunnel: Mapping[str, str]) -> socket.socket:
    """A connected socket to the pod's port. Blocks until the pod has answered. Raises Unavailable."""
    region = Region.objects.filter(slug=tunnel["region"]).first()
    if region is None:
        raise Unavailable(f"There is no region {tunnel['region']} any more.")
    kube = kube_of(region.slug, settings_of(region.config))
    return kube.forward(tunnel["namespace"], tunnel["pod"], int(tunnel["port"]))
