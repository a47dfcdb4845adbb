"""Small words and numbers for templates. Registered as a builtin: no template has to load it."""

from django import template

register = template.Library()
