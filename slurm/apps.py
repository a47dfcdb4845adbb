"""Slurm: everything that knows it."""

from django.apps import AppConfig


class SlurmConfig(AppConfig):
    name = "slurm"
