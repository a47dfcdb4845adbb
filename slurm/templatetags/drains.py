"""Why a node is out of service, and by whom: `{{ node|out_why }}`, `{{ node|out_by }}`."""

from django import template

from clusters.models import Node
from slurm.drains import drain_owner

register = template.Library()


@register.filter
def out_why(node: Node) -> str:
    """The reason, without what tells its owner."""
    return drain_owner(node.reason, node.reason_by).why


@register.filter
def out_by(node: Node) -> str:
    """`by ben`, `by the operator`, `by Slurm itself`."""
    return drain_owner(node.reason, node.reason_by).by
