"""Small words, shapes and numbers for templates. Registered as a builtin: no template has to load it.

Nothing here queries or decides: a tag takes values and gives markup. Everything a tag prints is escaped.
"""

from datetime import datetime
from urllib.parse import urlencode

from django import template
from django.forms import BoundField
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from console import words

register = template.Library()

# A shape for each tone, so that a status reads without its colour. 10 by 10, drawn in the text's own colour.
SHAPES = {
    "ok": '<circle cx="5" cy="5" r="4.5" fill="currentColor"/>',
    "busy": '<circle cx="5" cy="5" r="4" fill="none" stroke="currentColor" stroke-width="1.6"/>'
    '<path d="M5 1a4 4 0 0 1 0 8z" fill="currentColor"/>',
    "warn": '<path d="M5 .5 9.7 9.3H.3z" fill="currentColor"/>',
    "bad": '<rect x=".8" y=".8" width="8.4" height="8.4" rx="1.5" fill="currentColor"/>',
    "idle": '<circle cx="5" cy="5" r="4" fill="none" stroke="currentColor" stroke-width="1.6"/>',
}


def _shape(tone: str) -> SafeString:
    return mark_safe(f'<svg viewBox="0 0 10 10" aria-hidden="true">{SHAPES[tone]}</svg>')


@register.simple_tag
def status(
    word: str, tone: str = "", *, pill: bool = False, bare: bool = False, title: str = ""
) -> SafeString:
    """A word with its shape and colour. `tone` is ok, busy, warn, bad or idle; left out, the word decides."""
    tone = tone if tone in SHAPES else words.tone(word)
    classes = f"st {tone}{' pill' if pill else ''}{' moving' if word in words.MOVING else ''}"
    label = format_html('<span class="sr">{}</span>', word) if bare else word
    return format_html('<span class="{}" title="{}">{}{}</span>', classes, title, _shape(tone), label)


# What a node's health (clusters.nodes.Health) is drawn as: an idle node is calm, not green.
HEALTH = {"ok": "idle", "busy": "busy", "draining": "warn", "down": "bad", "unknown": "idle"}


@register.simple_tag
def node_state(state: str, health: str, *, pill: bool = False) -> SafeString:
    """Slurm's word for a node, drawn by how well the node is."""
    return status(state, HEALTH.get(health, "idle"), pill=pill)


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html('<i class="ti ti-{}" aria-hidden="true"></i>', name)


@register.simple_tag
def when(moment: datetime | None, empty: str = "") -> SafeString | str:
    """`4 min ago`, kept fresh by when.js, with the exact time on hover."""
    if moment is None:
        return empty
    exact = moment.astimezone(timezone.get_current_timezone())
    return format_html(
        '<time datetime="{}" title="{} UTC" data-when>{}</time>',
        exact.isoformat(timespec="seconds"),
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        words.ago((timezone.now() - moment).total_seconds()),
    )


@register.simple_tag
def clock(moment: datetime | None) -> SafeString | str:
    """The time of day, with the date on hover; when.js turns it into the reader's own zone."""
    if moment is None:
        return ""
    exact = moment.astimezone(timezone.get_current_timezone())
    return format_html(
        '<time datetime="{}" title="{} UTC" data-clock>{}</time>',
        exact.isoformat(timespec="seconds"),
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        exact.strftime("%H:%M:%S"),
    )


@register.filter
def memory(mib: int | None) -> str:
    """MiB as people say it: `512 MiB`, `256 GiB`, `2.0 TiB`."""
    return words.memory(mib)


@register.simple_tag
def memory_of(used: int, total: int) -> str:
    """`0.4 / 2.0 TiB`: both in the unit of the total."""
    return words.memory_of(used, total)


@register.filter
def duration(seconds: float | None) -> str:
    """`41 s`, `3 h 12 m`, `6 d 2 h`."""
    return words.duration(seconds)


@register.filter
def minutes(count: int | None) -> str:
    """Minutes as a duration; None is `unlimited`."""
    return "unlimited" if count is None else words.duration(count * 60)


@register.filter
def partitions_shown(names: list[str]) -> str:
    """`slinky +1`: without `all`, which every node is in, and without the length of the rest."""
    own = [name for name in names if name != "all"] or names
    return own[0] + (f" +{len(own) - 1}" if len(own) > 1 else "") if own else ""


@register.simple_tag
def meter(used: float, total: float, second: float = 0, label: str = "") -> SafeString | str:
    """A bar of `used`, then `second` in amber, of `total`. Says its numbers to screen readers."""
    if not total:
        return ""
    first, rest = (min(100.0, 100 * part / total) for part in (used, second))
    amber = format_html('<i class="w" style="width:{}%"></i>', f"{rest:.1f}") if second else ""
    return format_html(
        '<span class="meter" role="img" aria-label="{}"><i style="width:{}%"></i>{}</span>',
        label or f"{used:g} of {total:g}",
        f"{first:.1f}",
        amber,
    )


@register.simple_tag
def copyable(text: str, faint: str = "") -> SafeString | str:
    """A name in monospace that copies itself when pressed; `faint` is a second one, copied by its own press."""
    if not text:
        return ""
    first = _copy_button(text, "qd-name")
    return format_html("{} {}", first, _copy_button(faint, "qd-name faint", f"({faint})")) if faint else first


def _copy_button(text: str, classes: str, label: str = "") -> SafeString:
    return format_html(
        '<button type="button" class="copy {}" data-copy="{}" title="Copy {}">{}</button>',
        classes,
        text,
        text,
        label or text,
    )


@register.filter(name="words")
def words_of(text: str) -> list[str]:
    """Its words, to loop over."""
    return text.split()


@register.simple_tag
def url_if(name: str, *args: object, **kwargs: object) -> str:
    """Like {% url %}, but empty where no such page exists."""
    try:
        return reverse(name, args=args, kwargs=kwargs)
    except NoReverseMatch:
        return ""


@register.simple_tag(takes_context=True)
def query(context: template.Context, **changes: object) -> str:
    """The request's query string with `changes`; a value of None or "" leaves the key out."""
    request: HttpRequest = context["request"]
    params = request.GET.copy()
    for key, value in changes.items():
        params.pop(key, None)
        if value not in (None, ""):
            params[key] = str(value)
    return f"?{params.urlencode()}"


@register.simple_tag(takes_context=True)
def sort_head(context: template.Context, key: str, label: str, *, number: bool = False) -> SafeString:
    """A column head that sorts by `?sort=key`, and the other way round when pressed again."""
    request: HttpRequest = context["request"]
    current = request.GET.get("sort", "")
    mark = {key: ("ascending", "chevron-up"), f"-{key}": ("descending", "chevron-down")}.get(current)
    params = {**request.GET.dict(), "sort": f"-{key}" if current == key else key}
    params.pop("page", None)
    return format_html(
        '<th scope="col"{}{}><a href="?{}">{}{}</a></th>',
        mark_safe(' class="num"') if number else "",
        format_html(' aria-sort="{}"', mark[0]) if mark else "",
        urlencode(params),
        label,
        icon(mark[1]) if mark else "",
    )


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, help: str = "", kind: str = "", *, optional: bool = True) -> dict[str, object]:
    """A form's field with its label, help and problems.

    `kind` is `check` or `choices` where the plain form will not do. `optional=False` leaves the word "(optional)" out
    where an empty field means something that its help says.
    """
    described = f"{bound.auto_id}-about"  # a group of checkboxes has no id for a label
    attrs: dict[str, str | bool] = {
        "aria-describedby": described,
        **({"aria-invalid": "true"} if bound.errors else {}),
    }
    return {
        "field": bound,
        "widget": bound.as_widget(attrs=attrs),
        "about": described,
        "help": help or bound.help_text,
        "kind": kind,
        "is_optional": optional and not bound.field.required,
    }
