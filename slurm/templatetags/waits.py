"""`{% waited_for change as waited %}`: what a change that rests waits for (`slurm.waits`)."""

from django import template

from slurm.waits import waited_for

register = template.Library()
register.simple_tag(waited_for, name="waited_for")
