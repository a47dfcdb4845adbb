"""Drawing a priority as a bar of its parts."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from slurm.accounts.usage import Ranked, Use

register = template.Library()


@register.simple_tag
def priority_bar(one: Ranked, most: int) -> SafeString:
    """Parts side by side, as long as the priority is against the highest one shown; its numbers are its label."""
    total = max(most, sum(part.value for part in one.parts), 1)
    label = ", ".join(f"{part.label} {part.value}" for part in one.parts)
    at, pieces = 0.0, []
    for part in one.parts:
        width = 100 * max(0, part.value) / total
        pieces.append((part.name, f"{at:.2f}", f"{width:.2f}"))
        at += width
    rects = format_html_join("", '<rect class="pf {}" x="{}" y="0" width="{}" height="10"/>', pieces)
    return format_html(
        '<svg class="pf-bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        label,
        rects,
    )


@register.filter
def share_of(use: Use) -> str:
    """`75%` of a limit."""
    return f"{100 * (use.used or 0) / use.total:.0f}%" if use.total else ""


@register.filter
def hours(value: float) -> str:
    """`0`, `0.4`, `1,240`: hours, with one figure behind the point where that says something."""
    return f"{value:.1f}" if 0 < value < 10 else f"{value:,.0f}"


@register.filter
def rounded(value: float) -> str:
    return f"{value:.3f}"
