"""An impact as `clusters/_impact.html` shows it."""

from collections.abc import Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from clusters import impact_words
from clusters.impact import Impact
from clusters.promises import token_of

register = template.Library()
MOST_NAMED = 12


@register.filter
def rows(impact: Impact) -> tuple[impact_words.Row, ...]:
    return impact_words.rows_of(impact)


@register.filter
def ending(impact: Impact) -> str:
    """`, ending 3 jobs`, for the button."""
    return impact_words.summary(impact)


@register.simple_tag
def promise(impact: Impact) -> SafeString:
    """The hidden field by which a form says what it has shown."""
    return format_html('<input type="hidden" name="promise" value="{}">', token_of(impact))


@register.filter
def first(items: Sequence[object]) -> Sequence[object]:
    return items[:MOST_NAMED]


@register.filter
def beyond(items: Sequence[object]) -> int:
    """How many there are beyond the first ones."""
    return max(0, len(items) - MOST_NAMED)
