"""What `clusters/cluster.html` loads to draw a cluster's header for whoever asks."""

from django import template

from clusters.access import Door
from clusters.models import Cluster
from clusters.views import frame, parts

register = template.Library()


@register.simple_tag
def cluster_frame(door: Door) -> frame.Frame:
    return frame.cluster_frame(door)


@register.simple_tag
def cluster_steps(cluster: Cluster) -> list[parts.Step]:
    return parts.steps_of(cluster)
