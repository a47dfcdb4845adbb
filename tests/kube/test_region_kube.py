"""The client and the mirror of a region: one a process, made anew when the region's credential changes."""

import os
import threading

import pytest
import yaml

from console import secrets
from console.errors import Missing, Rejected
from slurm.kube.client import Kube
from slurm.kube.in_cluster import in_cluster
from slurm.kube.mirror import Mirror
from slurm.provisioners.slinky import region_kube
from slurm.provisioners.slinky.region import KUBECONFIG, RegionSettings
from slurm.provisioners.slinky.region_kube import kube_of
from slurm.provisioners.slinky.region_mirror import WANTED, mirror_of

pytestmark = pytest.mark.django_db
SETTINGS = RegionSettings()


def kubeconfig(token: str) -> bytes:
    """Of a server that nobody runs."""
    named = {"name": "x"}
    return yaml.safe_dump(
        {
            "current-context": "x",
            "contexts": [{**named, "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{**named, "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{**named, "user": {"token": token}}],
        }
    ).encode()


@pytest.fixture(autouse=True)
def sealed():
    secrets.put("region:lab", KUBECONFIG, kubeconfig("one"))


def test_made_once_and_without_asking_anybody():
    kube = kube_of("lab", SETTINGS)
    assert kube_of("lab", SETTINGS) is kube and kube.access.token == "one"
    assert not kube.requests


def test_a_new_kubeconfig_is_used_at_once():
    kube_of("lab", SETTINGS)
    secrets.put("region:lab", KUBECONFIG, kubeconfig("two"))
    assert kube_of("lab", SETTINGS).access.token == "two"


def test_the_kubeconfig_is_opened_only_when_it_is_new(monkeypatch):
    opened: list[str] = []
    get = secrets.get
    monkeypatch.setattr(secrets, "get", lambda owner, kind: opened.append(owner) or get(owner, kind))
    secrets.put("region:lab", KUBECONFIG, kubeconfig("three"))
    for _ in range(3):
        kube_of("lab", SETTINGS)
    assert opened == ["region:lab"]


def test_regions_do_not_share():
    secrets.put("region:other", KUBECONFIG, kubeconfig("other"))
    assert kube_of("other", SETTINGS).access.token == "other" != kube_of("lab", SETTINGS).access.token


def test_a_child_of_this_process_does_not_speak_on_its_connections(monkeypatch):
    kube = kube_of("lab", SETTINGS)
    monkeypatch.setattr(region_kube.os, "getpid", lambda: os.getppid())
    assert kube_of("lab", SETTINGS) is not kube


def test_without_a_kubeconfig_and_with_a_bad_one():
    with pytest.raises(Missing):
        kube_of("nowhere", SETTINGS)
    secrets.put("region:bad", KUBECONFIG, b"clusters: []")
    with pytest.raises(Rejected, match="cannot be used"):
        kube_of("bad", SETTINGS)


def test_in_a_pod_its_own_account_is_used(tmp_path, monkeypatch):
    for name in ("ca.crt", "namespace", "token"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setattr(region_kube, "in_cluster", lambda: in_cluster(tmp_path))
    settings = RegionSettings(in_cluster=True)
    kube = kube_of("pod", settings)
    assert kube.access.token_file == str(tmp_path / "token") and kube_of("pod", settings) is kube


@pytest.fixture
def stopped():
    """What was started is stopped."""
    made: list[Mirror] = []
    yield made
    for mirror in made:
        mirror.stop()


def test_one_mirror_until_the_credential_changes(stopped):
    stopped.append(mirror_of("lab", SETTINGS))
    assert mirror_of("lab", SETTINGS) is stopped[0]
    secrets.put("region:lab", KUBECONFIG, kubeconfig("four"))
    stopped.append(mirror_of("lab", SETTINGS))
    assert stopped[0].is_stopped and not stopped[1].is_stopped


def test_a_mirror_that_has_stopped_is_made_anew(stopped):
    stopped.append(mirror_of("lab", SETTINGS))
    stopped[0].stop()
    stopped.append(mirror_of("lab", SETTINGS))
    assert stopped[1] is not stopped[0]


def test_every_thread_of_a_mirror_ends_with_it():
    mirror = Mirror(Kube(kube_of("lab", SETTINGS).access), WANTED)
    before = set(threading.enumerate())
    mirror.start()
    ours = set(threading.enumerate()) - before
    assert len(ours) == len(WANTED) + 1
    mirror.stop()
    for thread in ours:
        thread.join(5)
    assert not any(thread.is_alive() for thread in ours)
