"""The Celery application. Tasks live in each app's `tasks.py`, are three lines long and may run twice."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
app = Celery("quarterdeck")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
