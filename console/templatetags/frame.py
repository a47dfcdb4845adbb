"""What only `base.html` loads."""

import json

from django import template

register = template.Library()

# No eval and no injected styles: the content security policy forbids both. Error answers are swapped too, because
# they are written to be read. `selfRequestsOnly` keeps the CSRF header at home.
HTMX = {
    "allowEval": False,
    "allowScriptTags": False,
    "includeIndicatorStyles": False,
    "selfRequestsOnly": True,
    "historyCacheSize": 0,
    "refreshOnHistoryMiss": True,
    "timeout": 20_000,
    "scrollBehavior": "instant",
    "defaultSettleDelay": 0,
    "responseHandling": [
        {"code": "204", "swap": False},
        {"code": "[23]..", "swap": True},
        {"code": "[45]..", "swap": True, "error": True},
    ],
}


@register.simple_tag
def get_htmx_config() -> str:
    """htmx's own settings, for its meta tag. See https://htmx.org/reference/#config (2.x)."""
    return json.dumps(HTMX)
