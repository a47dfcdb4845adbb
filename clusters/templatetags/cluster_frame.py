"""What `clusters/cluster.html` loads to draw a cluster's header for whoever asks."""

from django import template

from clusters.access import Door
from clusters.views import frame

register = template.Library()


@register.simple_tag
def cluster_frame(door: Door) -> frame.Frame:
    return frame.cluster_frame(door)
