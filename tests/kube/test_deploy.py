"""The console's own manifests: what they promise, and that an API server takes each of them as it is written."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from console.run.table import WEB_LIMITS
from slurm.provisioners.slinky.permissions import cluster_role
from slurm.provisioners.slinky.region import LoginBy, RegionSettings
from slurm.terminal import reach
from tests.kube.rig import things
from tests.kube.rig.admin import Admin
from tests.kube.rig.api import Refused, wait_until
from tests.kube.rig.build import build_beside
from tests.kube.rig.modules import KUSTOMIZE

KUBERNETES = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
BASE, EXAMPLE = KUBERNETES / "base", KUBERNETES / "example"
RECORDINGS = KUBERNETES / "recordings"
PLURALS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Ingress": "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}
# Every setting that asks for a right.
WIDEST = RegionSettings(login_by=LoginBy.PORT_FORWARD)


@cache
def made() -> tuple[things.Thing, ...]:
    """What `kubectl apply -k` would apply: the example's settings, and the component for recordings."""
    with tempfile.TemporaryDirectory() as folder:
        up = os.path.relpath(KUBERNETES, folder)
        mine = {"resources": [f"{up}/example"], "components": [f"{up}/recordings"]}
        (Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump(mine))
        done = subprocess.run(
            [build_beside(KUSTOMIZE), "build", folder], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    return tuple(yaml.safe_load_all(done.stdout))


def of_kind(kind: str) -> list[things.Thing]:
    return [one for one in made() if one["kind"] == kind]


def pod_specs() -> list[tuple[str, things.Thing]]:
    """Name and pod of everything that runs."""
    return [
        (one["metadata"]["name"], one["spec"]["template"]["spec"])
        for k in ("Deployment", "Job")
        for one in of_kind(k)
    ]


def containers(pod: things.Thing) -> list[things.Thing]:
    return [*pod.get("initContainers", ()), *pod["containers"]]


def moved(thing: things.Thing, namespace: str) -> things.Thing:
    """The same in a namespace of the test's, so that it may run beside others on one API server."""
    text = yaml.safe_dump(thing).replace("namespace: quarterdeck", f"namespace: {namespace}")
    found: things.Thing = yaml.safe_load(text)
    if thing["kind"] in ("Namespace", "ClusterRole", "ClusterRoleBinding"):
        found = {**found, "metadata": {**found["metadata"], "name": namespace}}
    if thing["kind"] == "ClusterRoleBinding":
        found = {**found, "roleRef": {**found["roleRef"], "name": namespace}}
    return found


def path_of(thing: things.Thing) -> str:
    return (
        f"{PLURALS[thing['kind']].format(thing['metadata'].get('namespace', ''))}/{thing['metadata']['name']}"
    )


def apply(kubernetes: Admin, thing: things.Thing) -> None:
    query = "fieldManager=tests&force=true&fieldValidation=Strict"
    kubernetes.api.ask("PATCH", f"{path_of(thing)}?{query}", thing, "application/apply-patch+yaml")


@pytest.fixture
def applied(kubernetes: Admin, namespace: str) -> Iterator[str]:
    """Everything by server-side apply, each field known to the API server. Returns the namespace."""
    here = [moved(thing, namespace) for thing in made()]
    try:
        for thing in here:
            apply(kubernetes, thing)
        yield namespace
    finally:
        for thing in here:
            if thing["kind"].startswith("ClusterRole"):
                kubernetes.api.delete(path_of(thing))


def test_api_server_takes_every_object_and_makes_pods_of_them(kubernetes: Admin, applied: str) -> None:
    """The namespace enforces the `restricted` Pod Security Standard: a pod that breaks it is not made."""
    wanted = {
        one["metadata"]["name"]: one["spec"].get("replicas", 1)
        for k in ("Deployment", "Job")
        for one in of_kind(k)
    }
    pods = f"{things.NAMESPACES}/{applied}/pods"

    def all_made() -> bool:
        names = [one["metadata"]["name"] for one in kubernetes.api.get(pods)["items"]]
        return all(sum(name.startswith(part) for name in names) == count for part, count in wanted.items())

    wait_until(f"pods of {', '.join(wanted)}", all_made)


def test_a_field_that_nobody_knows_would_be_refused(kubernetes: Admin, namespace: str) -> None:
    """The check itself can fail."""
    thing = moved(of_kind("Deployment")[0], namespace)
    wrong = {**thing, "spec": {**thing["spec"], "replicaz": 2}}
    with pytest.raises(Refused, match="replicaz"):
        apply(kubernetes, wrong)


def test_kustomizations_name_every_file_there_is() -> None:
    for folder in (BASE, EXAMPLE, RECORDINGS):
        listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
        files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert {name for name in listed if name.endswith(".yaml")} == files
        assert all((folder / name).exists() for name in listed)


def test_role_is_the_one_that_regions_are_checked_by() -> None:
    (role,) = of_kind("ClusterRole")
    assert role["rules"] == cluster_role(WIDEST)["rules"]


def test_no_secret_is_among_them_and_each_process_gets_its_own_by_reference() -> None:
    assert not of_kind("Secret")
    for name, pod in pod_specs():
        for container in containers(pod):
            sources = {one["name"]: one["valueFrom"] for one in container["env"]}
            known = {
                name: one["secretKeyRef"]["name"] for name, one in sources.items() if "secretKeyRef" in one
            }
            assert all("secretKeyRef" in one or "fieldRef" in one for one in sources.values())
            assert known == {"DATABASE_URL": "quarterdeck", "REDIS_URL": "quarterdeck"}, name
        (keys,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
        assert [item["path"] for item in keys["items"]] == ["secret_key", "sealing_keys"]


def test_nothing_runs_as_root_or_writes_outside_its_volumes() -> None:
    for name, pod in pod_specs():
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 1000, name
        for container in containers(pod):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"], name
            assert context["capabilities"]["drop"] == ["ALL"], name
            assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"], (
                name
            )


def test_token_is_mounted_where_regions_are_spoken_to_alone() -> None:
    mounted = {name for name, pod in pod_specs() if pod["automountServiceAccountToken"]}
    assert mounted == {"quarterdeck-web", "quarterdeck-terminals", "quarterdeck-worker", "quarterdeck-watch"}


def test_terminals_listen_at_their_pods_address_where_pages_alone_may_come() -> None:
    (pod,) = [pod for name, pod in pod_specs() if name == "quarterdeck-terminals"]
    (container,) = pod["containers"]
    (listen,) = [word.removeprefix("--listen=") for word in container["command"] if "--listen" in word]
    address = f"tls:{listen.replace('$(POD_IP)', '10.0.0.7')}"
    reach.check(address)
    ports = [one["containerPort"] for one in container["ports"]]
    assert [f"tls:10.0.0.7:{port}" for port in ports] == [address, reach.beside(address)]
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind("NetworkPolicy")}
    (entry,) = policies["quarterdeck-terminals-in"]["ingress"]
    (allowed,) = entry["ports"]
    assert [allowed["port"], allowed["endPort"]] == ports
    (pages,) = entry["from"]
    assert pages["podSelector"]["matchLabels"] == {"app.kubernetes.io/component": "web"}
    assert any(rule["ports"] == [allowed] and "to" in rule for rule in policies["quarterdeck-out"]["egress"])


def test_probes_ask_for_a_page_that_is_there_by_a_name_that_is_allowed() -> None:
    (settings,) = of_kind("ConfigMap")
    probes = [
        c[p]["httpGet"]
        for _, pod in pod_specs()
        for c in containers(pod)
        for p in c
        if p.endswith("Probe") and "httpGet" in c[p]
    ]
    assert {probe["path"] for probe in probes} == {"/healthz"} and len(probes) == 3
    hosts = {header["value"] for probe in probes for header in probe["httpHeaders"]}
    assert hosts <= set(settings["data"]["QUARTERDECK_HOSTS"].split(","))


def test_recordings_are_one_volume_for_all_who_touch_them() -> None:
    (settings,) = of_kind("ConfigMap")
    (claim,) = of_kind("PersistentVolumeClaim")
    where = settings["data"]["QUARTERDECK_TERMINAL_RECORDINGS"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    mounting = set()
    for one in of_kind("Deployment"):
        pod = one["spec"]["template"]["spec"]
        for volume in pod.get("volumes", ()):
            if volume.get("persistentVolumeClaim", {}).get("claimName") == claim["metadata"]["name"]:
                (mount,) = [m for m in pod["containers"][0]["volumeMounts"] if m["name"] == volume["name"]]
                assert mount["mountPath"] == where and not mount.get("readOnly")
                mounting.add(one["metadata"]["labels"]["app.kubernetes.io/component"])
    assert mounting == {"web", "worker", "terminals"}


def test_web_is_started_with_its_limits() -> None:
    (pod,) = [pod for name, pod in pod_specs() if name == "quarterdeck-web"]
    (container,) = pod["containers"]
    assert set(WEB_LIMITS) <= set(container["command"])


def test_commands_are_programs_of_this_project() -> None:
    commands = [c["command"] for _, pod in pod_specs() for c in containers(pod)]
    known = {"migrate", "watch", "terminals"}
    for command in commands:
        assert command[0] == "python" and (
            command[1] == "-m" or command[1:2] == ["manage.py"] and command[2] in known
        )
