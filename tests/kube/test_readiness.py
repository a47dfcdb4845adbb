"""A region's readiness by a real API server: as administrator, with the Role that the page hands out, with too few
rights, with nothing there, with nobody there, and beside many machines and pods of others.
"""

import base64
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from clusters.finding import Finding, State
from clusters.models import Image, Plan, Region
from clusters.platform import Platform
from console import secrets
from slurm.kube.access import read_kubeconfig
from slurm.kube.client import Kube
from slurm.kube.kinds import NAMESPACE, NODE
from slurm.provisioners.slinky.permissions import cluster_role, documents
from slurm.provisioners.slinky.ready import machines
from slurm.provisioners.slinky.region import RegionSettings
from tests.kube.rig import things
from tests.kube.rig.admin import Admin, slinky_crds
from tests.kube.rig.api import wait_until
from tests.kube.rig.rig import Rig
from tests.yardstick import in_yardsticks

pytestmark = pytest.mark.django_db
# Told by a first cluster, a person or a newer image only; none of them keeps a region from being ready.
LATER = {"images", "login", "shared-storage", "operator", "webhook", "gpus"}


@pytest.fixture
def region(db: None) -> Region:
    made = Region.objects.create(slug="east", name="East", provisioner="slinky")
    shape = {"gpu_model": "H100", "gpus": 8, "cpus": 16, "memory_mib": 32_000}
    Plan.objects.create(region=made, slug="h100-8", name="8 x H100", **shape)
    Image.objects.create(slug="slurm-26-05", name="26.05", slurm_version="26.05", source="sid")
    return made


def seen(region: Region, kubeconfig: str) -> dict[str, Finding]:
    """What the platform finds with this kubeconfig, by key."""
    secrets.put(f"region:{region.slug}", "kubeconfig", kubeconfig.encode())
    platform: Platform = region.platform
    return {finding.key: finding for finding in platform.readiness()}


@pytest.fixture
def slinky(kubernetes: Admin) -> Admin:
    """With the operator's definitions."""
    kubernetes.install(slinky_crds())
    return kubernetes


@pytest.fixture
def account(slinky: Admin, namespace: str) -> Iterator[str]:
    """A service account that may nothing yet, and nothing again afterwards."""
    slinky.token_for(namespace, "console")
    yield f"system:serviceaccount:{namespace}:console"
    slinky.allow(f"system:serviceaccount:{namespace}:console", [])


def test_administrator_finds_the_region_ready(region: Region, slinky: Admin) -> None:
    found = seen(region, slinky.api.kubeconfig)
    assert {key: f for key, f in found.items() if f.state is not State.OK and key not in LATER} == {}
    assert found["api"].sentence.startswith("Kubernetes v1.") and "operator 1.2" in found["crds"].sentence
    assert "GPUs;" in found["gpus"].sentence and found["gpus"].state in (State.OK, State.WARN)


def test_role_that_is_handed_out_is_enough_and_nothing_is_unknown_for_want_of_it(
    region: Region, slinky: Admin, account: str, namespace: str
) -> None:
    slinky.allow(account, cluster_role(RegionSettings())["rules"])
    found = seen(region, slinky.token_kubeconfig(namespace, "console"))
    assert found["permissions"].state is State.OK and "may not" not in str(found)
    # A token of an hour, as tests have it, ends soon.
    assert {key for key, f in found.items() if f.state is not State.OK} <= LATER | {"credential"}


def test_file_that_is_handed_out_is_taken_by_the_api_server(kubernetes: Admin) -> None:
    paths = {
        "Namespace": "/api/v1/namespaces",
        "ServiceAccount": "/api/v1/namespaces/default/serviceaccounts",
        "Secret": "/api/v1/namespaces/default/secrets",
        "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    }
    for thing in yaml.safe_load_all(documents(RegionSettings())["permissions.yaml"]):
        about = {**thing["metadata"], "name": f"{thing['metadata']['name']}-tried"}
        about |= {"namespace": "default"} if "namespace" in about else {}
        tried = {**thing, "metadata": about}
        kubernetes.api.create(f"{paths[thing['kind']]}?dryRun=All&fieldValidation=Strict", tried)


def test_too_few_rights_are_named_by_verb_and_resource(
    region: Region, slinky: Admin, account: str, namespace: str
) -> None:
    lacking = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb != "patch"]}
        for rule in cluster_role(RegionSettings())["rules"]
        if rule["resources"] != ["nodes"]
    ]
    slinky.allow(account, lacking)
    found = seen(region, slinky.token_kubeconfig(namespace, "console"))
    assert found["permissions"].state is State.BAD
    missing = found["permissions"].details
    assert any(line.startswith("nodesets.slinky.slurm.net: lacks patch") for line in missing)
    assert any(line.startswith("nodes: lacks get list watch") for line in missing)
    assert found["gpus"].state is State.UNKNOWN and "may not list nodes" in found["gpus"].sentence


def test_rights_in_a_teams_namespace_alone_are_a_remark(
    region: Region, slinky: Admin, account: str, namespace: str
) -> None:
    ours = {"app.kubernetes.io/managed-by": "quarterdeck"}
    slinky.api.merge(f"{things.NAMESPACES}/{namespace}", {"metadata": {"labels": ours}})
    everywhere = [
        *(
            "namespaces",
            "nodes",
            "storageclasses",
            "customresourcedefinitions",
            "validatingwebhookconfigurations",
        )
    ]
    rules = cluster_role(RegionSettings())["rules"]
    slinky.allow(account, [rule for rule in rules if rule["resources"][0] in everywhere])
    slinky.allow(account, [rule for rule in rules if rule["resources"][0] not in everywhere], namespace)
    found = seen(region, slinky.token_kubeconfig(namespace, "console"))["permissions"]
    others = len(
        slinky.api.get(f"{things.NAMESPACES}?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dquarterdeck")[
            "items"
        ]
    )
    assert found.state is (State.WARN if others == 1 else State.BAD)


def test_definition_that_is_missing_is_named(region: Region, rig: Rig) -> None:
    rig.install(slinky_crds())
    path = f"{things.CRDS}/loginsets.slinky.slurm.net"
    rig.api.delete(path)
    try:
        found = seen(region, rig.api.kubeconfig)["crds"]
        assert found.state is State.BAD and "loginsets is not served" in found.sentence
        assert any("helm" in command for command in found.commands)
    finally:
        wait_until(path, lambda: path not in [_path(one) for one in rig.api.get(things.CRDS)["items"]])
        rig.install(slinky_crds())


def _path(definition: things.Thing) -> str:
    return f"{things.CRDS}/{definition['metadata']['name']}"


def test_api_server_that_is_away_is_said_once_and_in_time(region: Region, kubernetes: Admin) -> None:
    config = yaml.safe_load(kubernetes.api.kubeconfig)
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    began = time.monotonic()
    found = seen(region, yaml.safe_dump(config))
    assert time.monotonic() - began < 15
    assert found["api"].state is State.BAD and "127.0.0.1:9" in found["api"].sentence
    assert {found[key].state for key in ("permissions", "crds", "gpus", "clock")} == {State.UNKNOWN}


def test_token_that_has_ended_is_named_as_such(region: Region, kubernetes: Admin) -> None:
    def part(of: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(of).encode()).decode().rstrip("=")

    config = yaml.safe_load(kubernetes.api.kubeconfig)
    ended = f"{part({'alg': 'RS256'})}.{part({'exp': int(time.time()) - 7200})}.c2lnbmF0dXJl"
    config["users"][0]["user"] = {"token": ended}
    found = seen(region, yaml.safe_dump(config))
    assert found["api"].state is State.BAD and found["credential"].state is State.BAD
    assert (
        found["credential"].sentence == "It ended 2 h ago."
        and "Replace credentials" in found["credential"].hint
    )


def test_region_without_a_kubeconfig_says_so(region: Region) -> None:
    found = region.platform.readiness()
    assert [(f.state, f.sentence) for f in found] == [(State.BAD, "There is no kubeconfig.")]


def test_settings_that_cannot_be_read_are_a_finding(region: Region) -> None:
    region.config = {"login_by": "carrier pigeon"}
    found = region.platform.readiness()
    assert found[0].key == "settings" and "login_by" in found[0].sentence


def test_shared_storage_is_believed_when_an_administrator_says_so(region: Region, rig: Rig) -> None:
    path = f"/apis/storage.k8s.io/v1/storageclasses/{things.SHARED_CLASS}"
    rig.api.merge(path, {"metadata": {"annotations": {"quarterdeck.dev/read-write-many": "true"}}})
    try:
        assert seen(region, rig.api.kubeconfig)["shared-storage"].state is State.OK
    finally:
        rig.api.merge(path, {"metadata": {"annotations": {"quarterdeck.dev/read-write-many": None}}})


# The limit is half of what a page waits for; on a quiet machine it takes a few seconds.
NODES, PODS, LIMIT_S = 500, 3000, 45


@pytest.mark.timeout(900)
def test_many_machines_and_pods_of_others_are_counted_in_time(region: Region, rig: Rig) -> None:
    """Nobody simulates these nodes: what is measured is our reading of them. Making them takes a minute or more."""
    kube = Kube(read_kubeconfig(rig.api.kubeconfig), timeout_s=60)
    namespace = rig.add_namespace("foreign")
    before = seen(region, rig.api.kubeconfig)["gpus"]
    names = [f"foreign-{number:03d}" for number in range(NODES)]
    with ThreadPoolExecutor(8) as pool:
        try:
            list(pool.map(lambda name: kube.create(_foreign_node(name)), names))
            list(pool.map(lambda name: kube.patch_status(NODE, name, "", _roomy()), names))
            list(pool.map(lambda number: kube.create(_foreign_pod(number, namespace)), range(PODS)))
            began = time.monotonic()
            found = seen(region, rig.api.kubeconfig)
            took_s = time.monotonic() - began
            print(f"readiness beside {NODES} machines and {PODS} pods of others: {took_s:.1f} s")
            assert took_s < LIMIT_S
            assert _free(found["gpus"]) - _free(before) == NODES * 8 - PODS
        finally:
            list(pool.map(lambda name: kube.delete(NODE, name), names))
            kube.delete(
                NAMESPACE, namespace
            )  # its controller and the pods' collector take their time for the rest


def _free(finding: Finding) -> int:
    """The number before `are free`; 0 where none is."""
    words = finding.sentence.split()
    return int(words[words.index("are") - 1]) if "are" in words else 0


def _foreign_node(name: str) -> things.Thing:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def _roomy() -> things.Thing:
    sizes = {"nvidia.com/gpu": "8", "cpu": "96", "memory": "1000Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    return {"status": {"capacity": sizes, "allocatable": sizes, "conditions": ready}}


def _foreign_pod(number: int, namespace: str) -> things.Thing:
    resources = {"limits": {"nvidia.com/gpu": "1"}}
    container = {"name": "main", "image": "none", "resources": resources}
    spec = {"nodeName": f"foreign-{number % NODES:03d}", "containers": [container]}
    about = {"name": f"p-{number}", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


def test_the_machines_of_a_large_region_are_read_quickly() -> None:
    """The pure part alone, at ten times that size."""
    nodes = [{**_foreign_node(f"foreign-{number:03d}"), **_roomy()} for number in range(NODES * 10)]
    pods = [_foreign_pod(number, "x") for number in range(PODS * 10)]
    assert len(machines.machines_of(nodes, pods, RegionSettings())) == NODES * 10
    assert in_yardsticks(lambda: machines.machines_of(nodes, pods, RegionSettings())) < 50
