"""`{{ entry.size|bytes }}`: `3.4 KiB`."""

from django import template

from console import words

register = template.Library()
register.filter("bytes", words.size)
