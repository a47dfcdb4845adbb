"""The base app. Loading the Celery application here, not in `console/__init__`, keeps the base below the root."""

from importlib import import_module

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        import_module("console.celery")
