"""How many nodes at a time, and from when on, as the dialogs of restarts say it (`slurm/_when.html`)."""

from dataclasses import replace

from django.http import HttpRequest

from clusters.views.start import start_of
from clusters.when import time_of
from console.numbers import typed_number
from slurm.restarts import Order


def pace_of(request: HttpRequest, node_count: int, otherwise: int = 0) -> int:
    """0 for all together, which nothing typed means; `otherwise` while nobody has been asked. What is no such number is
    one more than there are: `clusters.changes.restart` refuses that at its field."""
    said = request.POST or request.GET
    typed = said.get("at_once")
    if typed is None:
        return 0 if "when" in said or request.method == "POST" else otherwise
    if not typed.strip():
        return 0
    # A typed 0 is no such number either: it would restart all at once, which whoever typed it hardly meant.
    return typed_number(typed.strip(), most=max(node_count, 1)) or node_count + 1


def suggested(node_count: int) -> int:
    """A quarter: enough of the cluster goes on working."""
    return max(1, node_count // 4) if node_count > 1 else 0


def timed(order: Order, request: HttpRequest) -> Order:
    """The order with the time that was typed. Raises Rejected at `start_at` for what is none."""
    return replace(order, start_at=time_of(start_of({"start_at": request.POST.get("start_at", "")})))
