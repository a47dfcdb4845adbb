"""Storage: volumes, where they are and which clusters mount them."""

from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "storage"
