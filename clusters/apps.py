"""Clusters: inventory, desired state and how it changes."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "clusters"
