"""`manage.py demo`: make the demo, write `run.json`, and with --jobs wait for the cluster and fill its queue."""

import json
import os
import time
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path

import msgspec
from django.conf import settings
from django.core.management.base import BaseCommand

from clusters.access import cluster_for
from clusters.changes import create_cluster
from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.order import Order, spec_for
from console.errors import ConsoleError
from console.models import Membership, Team, User
from console.roles import Action
from slurm import operations
from slurm.demo import accounts, history, kubernetes, scene

PATIENCE_S = 600


class Command(BaseCommand):
    help = "Make the demo team and cluster (idempotent)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--run-json", type=Path, help="where to write the address and the people's credentials"
        )
        parser.add_argument("--url", default="http://127.0.0.1:8000")
        parser.add_argument(
            "--jobs", action="store_true", help="wait until the cluster runs, then submit the demo's jobs"
        )

    def handle(self, *, run_json: Path | None, url: str, jobs: bool, **options: object) -> None:
        if jobs:
            self._submit_jobs()
            return
        scene.make_inventory()
        team, users = scene.make_people(_known(run_json) if run_json else {})
        self._make_cluster(team)
        kubernetes.offer_region(settings.VAR_DIR / "kube" / "kubeconfig", by=User.objects.get(username="ada"))
        if run_json:
            _write_private(run_json, {"url": url, "users": users})

    def _make_cluster(self, team: Team) -> None:
        if Cluster.objects.filter(team=team, slug=scene.CLUSTER).exists():
            return
        owner = Membership.objects.get(team=team, user__username="ada")
        region, spec = spec_for(
            Order(
                scene.CLUSTER,
                "local",
                "slurm-24-11",
                gpu_plan="h100-8",
                gpu_nodes=4,
                cpu_plan="cpu-64",
                cpu_nodes=2,
            )
        )
        spec = spec.with_slurm_conf(spec.slurm_conf + accounts.CONF)
        create_cluster(team, region, spec.with_mounts(scene.make_volumes(region, owner)), by=owner)

    def _submit_jobs(self) -> None:
        cluster = Cluster.objects.get(team__slug=scene.TEAM, slug=scene.CLUSTER)
        give_up = time.monotonic() + PATIENCE_S
        while cluster.status == Status.CREATING and time.monotonic() < give_up:
            time.sleep(0.5)
            cluster.refresh_from_db()
        if cluster.status != Status.RUNNING or cluster.jobs.exists():
            return
        for job in self._jobs():
            person = User.objects.get(username=job.by)
            door = cluster_for(person, scene.TEAM, scene.CLUSTER, Action.SUBMIT_JOB)
            number = operations.submit(door, scene.script(job))
            if job.comes_first:
                raised = ["scontrol", "update", f"jobid={number}", f"priority={scene.PRIORITY}"]
                cluster.provisioner.executor().run(raised)
        history.make_history(cluster, cluster.team.memberships.get(user__username="lin"))

    def _jobs(self) -> Iterable[scene.DemoJob]:
        """With accounts, where the cluster keeps accounting."""
        owner = User.objects.get(username="ada")
        try:
            accounts.make_accounts(cluster_for(owner, scene.TEAM, scene.CLUSTER, Action.CHANGE_ACCOUNTS))
        except ConsoleError as error:
            self.stderr.write(f"The demo goes without accounts: {error.message}")
            return (*scene.JOBS, scene.PULSE)
        return accounts.jobs()


def _known(path: Path) -> dict[str, dict[str, str]]:
    """The people of an earlier run. A file that somebody broke costs new passwords, not the start."""
    try:
        users = msgspec.json.decode(path.read_bytes(), type=_RunFile).users
    except (OSError, msgspec.DecodeError):
        return {}
    return {name: user for name, user in users.items() if user.keys() >= {"password", "token", "role"}}


class _RunFile(msgspec.Struct):
    users: dict[str, dict[str, str]]


def _write_private(path: Path, content: object) -> None:
    """Whole or not at all, and readable by this user alone from its first byte."""
    fresh = path.with_suffix(".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(content, file, indent=2)
    fresh.replace(path)
