"""What a region's objects mean for its readiness: tables of what was seen and what is said."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from clusters.finding import State
from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.permissions import Ask, asks_for, cluster_role, documents, rights_for
from slurm.provisioners.slinky.ready import api, images, machines, operator, rights, storage, teams
from slurm.provisioners.slinky.ready.quantity import amount, mib
from slurm.provisioners.slinky.region import Database, DatabaseKind, LoginBy, RegionSettings, Toleration

CRDS = Path(__file__).resolve().parents[2] / "kube" / "crds"
PLAIN = RegionSettings()
GPU = "nvidia.com/gpu"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def definitions() -> dict[str, Thing]:
    """Ours, which serve what operator 1.2 does of the fields that tell releases apart."""
    found = [yaml.safe_load(path.read_text()) for path in CRDS.glob("*.yaml")]
    return {one["spec"]["names"]["plural"]: one for one in found}


def controller_with(fields: set[str]) -> dict[str, Thing]:
    known = definitions()
    schema = known["controllers"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["properties"] = {field: {"type": "object"} for field in fields}
    return known


@pytest.mark.parametrize(
    ("fields", "release", "state"),
    [
        ({"extraConf"}, "1.0", State.BAD),
        ({"jwtKeyRef"}, "1.1", State.WARN),
        ({"jwtKeyRef", "inplaceReconfigure"}, "1.2", State.OK),
        ({"jwtKeyRef", "inplaceReconfigure", "ha"}, "1.3", State.OK),
    ],
)
def test_release_is_known_by_the_fields_it_serves(fields: set[str], release: str, state: State) -> None:
    known = controller_with(fields)
    assert operator.release_of(known) == release
    found = operator.resources_finding(known)
    assert found.state is state and release in found.sentence


def test_missing_definitions_are_named_and_how_to_install_them() -> None:
    known = {plural: one for plural, one in definitions().items() if plural != "loginsets"}
    found = operator.resources_finding(known)
    assert found.state is State.BAD and found.sentence.startswith("loginsets is not served")
    assert operator.resources_finding({}).sentence.startswith("None of them is served")
    assert "helm install" in found.commands[0]


def test_definition_that_serves_another_version_only_does_not_count() -> None:
    known = definitions()
    known["controllers"]["spec"]["versions"][0]["name"] = "v1alpha1"
    assert operator.resources_finding(known).state is State.BAD


def deployment(name: str, ready: int, namespace: str = "slinky") -> Thing:
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/version": "1.2.1"}
    about = {"name": name, "namespace": namespace, "labels": labels}
    return {"metadata": about, "spec": {"replicas": 1}, "status": {"readyReplicas": ready}}


@pytest.mark.parametrize(
    ("seen", "state", "says"),
    [
        ([deployment("slurm-operator", 1)], State.OK, "slinky/slurm-operator 1.2.1, 1 of 1 ready"),
        ([deployment("slurm-operator", 0)], State.BAD, "no pod that is ready"),
        ([], State.WARN, "No Deployment"),
        (
            [deployment("slurm-operator", 1), deployment("slurm-operator", 1, "other")],
            State.WARN,
            "More than one",
        ),
    ],
)
def test_operator_is_seen_running(seen: list[Thing], state: State, says: str) -> None:
    found = operator.operator_finding(seen)
    assert found.state is state and says in found.sentence


def test_webhook_that_cannot_answer_stops_every_write() -> None:
    hook = {
        "metadata": {"name": "slurm-operator-webhook"},
        "webhooks": [{"rules": [{"apiGroups": ["slinky.slurm.net"]}]}],
    }
    other = {"metadata": {"name": "other"}, "webhooks": [{"rules": [{"apiGroups": ["apps"]}]}]}
    down, up = [deployment("slurm-operator-webhook", 0)], [deployment("slurm-operator-webhook", 1)]
    assert operator.webhook_finding([hook], down).state is State.BAD
    assert operator.webhook_finding([hook, other], up).state is State.OK
    assert operator.webhook_finding([other], up).state is State.WARN


@pytest.mark.parametrize(
    ("version", "state"),
    [("v1.37.2", State.OK), ("v1.29.0-gke.1", State.OK), ("v1.28.9", State.BAD), ("odd", State.UNKNOWN)],
)
def test_version_of_the_api_server(version: str, state: State) -> None:
    assert api.version_finding(version, "https://api:6443").state is state


@pytest.mark.parametrize(
    ("days", "state", "says"),
    [(-1, State.BAD, "ended 1 d ago"), (3, State.WARN, "ends in 3 d"), (90, State.OK, "ends in 90 d")],
)
def test_end_of_the_credential(days: int, state: State, says: str) -> None:
    found = api.credential_finding(NOW + timedelta(days=days), NOW)
    assert found.state is state and says in found.sentence


@pytest.mark.parametrize(
    ("skew_s", "state"), [(0.8, State.OK), (-30, State.OK), (31, State.WARN), (-400, State.WARN)]
)
def test_clock(skew_s: float, state: State) -> None:
    assert api.clock_finding(skew_s).state is state


def node(
    name: str, gpus: int = 8, *, ready: str = "True", labels: dict[str, str] | None = None, **spec: object
) -> Thing:
    has = {GPU: str(gpus), "cpu": "95500m", "memory": "1056Gi"} if gpus else {"cpu": "64", "memory": "256Gi"}
    status = {"allocatable": has, "conditions": [{"type": "Ready", "status": ready}]}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": status}


def pod(where: str, *asks: int, sidecars: tuple[int, ...] = (), starters: tuple[int, ...] = ()) -> Thing:
    def container(gpus: int, **more: object) -> Thing:
        return {"resources": {"limits": {GPU: str(gpus)}}, **more}

    first = [container(gpus, restartPolicy="Always") for gpus in sidecars]
    first += [container(gpus) for gpus in starters]
    return {"spec": {"nodeName": where, "containers": [container(g) for g in asks], "initContainers": first}}


def test_free_gpus_are_what_others_have_not_asked_for() -> None:
    pods = [pod("a", 3, 2), pod("a", 1, starters=(2,)), pod("b", 4, sidecars=(1,)), {"spec": {}}]
    seen = machines.machines_of([node("a"), node("b"), node("c", 0)], pods, PLAIN)
    assert {one.name: one.free for one in seen} == {"a": 1, "b": 3, "c": 0}
    found = machines.gpus_finding(seen, PLAIN)
    assert (
        found.state is State.OK
        and found.sentence == "2 machines with 16 GPUs; 4 are free, at most 3 on one machine."
    )


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (node("a", ready="Unknown"), "not ready"),
        (node("a", unschedulable=True), "cordoned"),
        (node("a", taints=[{"key": "mine", "effect": "NoSchedule"}]), "taint mine"),
        (node("a", labels={"pool": "web"}), "label pool=slurm"),
    ],
)
def test_machine_that_no_worker_can_use_says_why(one: Thing, why: str) -> None:
    settings = RegionSettings(gpu_selector={"pool": "slurm"} if "pool" in why else {})
    found = machines.gpus_finding(machines.machines_of([one], [], settings), settings)
    assert found.state is State.BAD and any(why in line for line in found.details)


@pytest.mark.parametrize(
    ("toleration", "is_tolerated"),
    [
        (Toleration("pool", effect="NoSchedule"), True),
        (Toleration("pool", "Equal", "gpu"), True),
        (Toleration("pool", "Equal", "web"), False),
        (Toleration("pool", effect="NoExecute"), False),
        (Toleration("other"), False),
    ],
)
def test_taints_are_read_as_the_scheduler_reads_them(toleration: Toleration, is_tolerated: bool) -> None:
    taint = {"key": "pool", "value": "gpu", "effect": "NoSchedule"}
    settings = RegionSettings(gpu_tolerations=(toleration,))
    found = machines.gpus_finding(machines.machines_of([node("a", taints=[taint])], [], settings), settings)
    assert (found.state is State.OK) == is_tolerated


def test_plan_that_fits_nowhere_is_named_with_what_it_asks() -> None:
    seen = machines.machines_of([node("a")], [], PLAIN)
    fits, big = machines.Shape("h100-8", 8, 95, 1_000_000), machines.Shape("h100-96", 8, 96, 1_000_000)
    assert machines.plans_finding([fits], seen).state is State.OK
    found = machines.plans_finding([fits, big], seen)
    assert found.state is State.WARN and "h100-96 asks 8 GPUs, 96 CPUs" in found.sentence
    assert machines.plans_finding([], seen).state is State.BAD


def storage_class(name: str, provisioner: str, **annotations: str) -> Thing:
    return {"metadata": {"name": name, "annotations": annotations}, "provisioner": provisioner}


def test_state_needs_a_class_that_is_there() -> None:
    marked = storage_class("fast", "ebs.csi.aws.com", **{storage.DEFAULT: "true"})
    plain = storage_class("slow", "ebs.csi.aws.com")
    assert storage.state_finding([marked, plain], "", "4Gi").state is State.OK
    assert storage.state_finding([plain], "slow", "4Gi").state is State.OK
    assert "There is no storage class gone" in storage.state_finding([plain], "gone", "4Gi").sentence
    assert storage.DEFAULT in storage.state_finding([plain], "", "4Gi").commands[0]
    assert storage.state_finding([], "", "4Gi").state is State.BAD


@pytest.mark.parametrize(
    ("classes", "state"),
    [
        ([storage_class("a", "rook-ceph.cephfs.csi.ceph.com")], State.OK),
        ([storage_class("a", "rook-ceph.rbd.csi.ceph.com")], State.WARN),
        ([storage_class("a", "kubernetes.io/no-provisioner")], State.UNKNOWN),
        ([storage_class("a", "kubernetes.io/no-provisioner", **{storage.SHARED: "true"})], State.OK),
        ([storage_class("a", "nfs.csi.k8s.io", **{storage.SHARED: "false"})], State.WARN),
        ([], State.WARN),
    ],
)
def test_shared_storage_is_known_by_driver_or_by_an_administrators_word(
    classes: list[Thing], state: State
) -> None:
    assert storage.shared_finding(classes).state is state


GROWS = {
    **storage_class("files", "nfs.csi.k8s.io", **{storage.DEFAULT: "true"}),
    "allowVolumeExpansion": True,
}
DISKS = {**storage_class("disks", "ebs.csi.aws.com"), "allowVolumeExpansion": True}


@pytest.mark.parametrize(
    ("offered", "otherwise", "state", "says"),
    [
        (storage.Offered("fast", "files"), "", State.OK, "fast can be made here"),
        (storage.Offered("fast"), "", State.OK, "fast can be made here"),
        (storage.Offered("fast"), "disks", State.WARN, "disks is mounted by one machine at a time"),
        (storage.Offered("fast", "gone"), "", State.WARN, "fast: there is no storage class gone"),
        (storage.Offered("fast", "rigid"), "", State.WARN, "cannot grow"),
        (storage.Offered("fast", "odd"), "", State.UNKNOWN, "is not known"),
        (storage.Offered("corpus", "gone", is_dataset=True), "", State.OK, "corpus can be made here"),
    ],
)
def test_each_offer_needs_a_class_that_is_there_shared_and_grows(
    offered: storage.Offered, otherwise: str, state: State, says: str
) -> None:
    odd = {**storage_class("odd", "example.com/own"), "allowVolumeExpansion": True}
    classes = [GROWS, DISKS, storage_class("rigid", "nfs.csi.k8s.io"), odd]
    found = storage.offers_finding([offered], classes, otherwise)
    assert found.state is state and says in found.sentence, found


def test_offers_are_all_told_and_none_is_no_fault() -> None:
    found = storage.offers_finding([storage.Offered("a", "files"), storage.Offered("b", "gone")], [GROWS], "")
    assert found.details == ("a: made of files", "b: there is no storage class gone")
    assert storage.offers_finding([], [GROWS], "").state is State.OK
    assert (
        "no storage class is the default"
        in storage.offers_finding([storage.Offered("a")], [DISKS], "").sentence
    )


def test_images_are_known_by_pods_that_run_them() -> None:
    name = "ghcr.io/slinkyproject/slurmd:26.05-ubuntu24.04"
    runs = {"status": {"containerStatuses": [{"image": name, "imageID": "sha256:1"}]}}
    waits = {
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}},
        "image": name,
    }
    assert images.images_finding([name], [runs]).state is State.OK
    assert images.images_finding([name], []).state is State.UNKNOWN
    failed = images.images_finding([name], [{"status": {"containerStatuses": [waits]}}])
    assert failed.state is State.BAD and "manifest unknown" in failed.sentence
    assert images.images_finding(["Upper/Case:1"], []).state is State.BAD


def test_quota_that_is_used_up_is_named() -> None:
    def quota(namespace: str, used: str) -> Thing:
        numbers = {"hard": {"requests.nvidia.com/gpu": "16"}, "used": {"requests.nvidia.com/gpu": used}}
        return {"metadata": {"namespace": namespace, "name": "gpus"}, "status": numbers}

    assert teams.quota_finding([quota("quarterdeck-research", "8")], "quarterdeck").state is State.OK
    found = teams.quota_finding([quota("quarterdeck-research", "16"), quota("other", "16")], "quarterdeck")
    assert found.state is State.WARN and "quarterdeck-research/gpus" in found.sentence


def test_login_service_without_an_address_is_seen() -> None:
    waits = {"metadata": {"namespace": "n", "name": "x-login"}, "spec": {"type": "LoadBalancer"}}
    has = {**waits, "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}
    assert teams.login_finding([waits], LoginBy.LOAD_BALANCER).state is State.WARN
    assert teams.login_finding([has], LoginBy.LOAD_BALANCER).state is State.OK
    assert teams.login_finding([], LoginBy.PORT_FORWARD).state is State.OK


def test_existing_database_needs_its_password() -> None:
    settings = RegionSettings(database=Database(DatabaseKind.EXISTING, host="db.example"))
    assert teams.database_finding(settings, has_password=False).state is State.BAD
    assert teams.database_finding(settings, has_password=True).state is State.UNKNOWN
    assert teams.database_finding(PLAIN, has_password=False).state is State.OK


def answers(**refused: bool | None) -> dict[Ask, bool | None]:
    return {ask: refused.get(str(ask).replace(" ", "_"), True) for ask in asks_for(PLAIN)}


def test_missing_permission_is_named_by_verb_and_resource() -> None:
    found = rights.rights_finding(answers(delete_pods=False, create_secrets=False), ())
    assert found.state is State.BAD
    assert found.sentence == "2 permissions missing: create secrets and delete pods."
    assert found.details[0].startswith("secrets: lacks create;")


def test_permission_in_a_teams_namespace_only_is_a_remark() -> None:
    found = rights.rights_finding(answers(delete_pods=None), ("quarterdeck-research",))
    assert found.state is State.WARN and "quarterdeck-research only" in found.sentence


def test_permission_that_only_says_more_does_not_stop_anything() -> None:
    missing = {"list_validatingwebhookconfigurations.admissionregistration.k8s.io": False}
    assert rights.rights_finding(answers(**missing), ()).state is State.OK
    assert rights.rights_finding(answers(), ()).sentence == f"All {len(asks_for(PLAIN))} are there."


def test_rights_grow_with_what_the_settings_need() -> None:
    def has(settings: RegionSettings, said: str) -> bool:
        return said in {str(ask) for ask in asks_for(settings)}

    existing = RegionSettings(shadow_pods=False, database=Database(DatabaseKind.EXISTING))
    assert has(PLAIN, "create pods") and not has(existing, "create pods")
    assert has(PLAIN, "create statefulsets.apps") and not has(existing, "create statefulsets.apps")
    needed = [
        by
        for by in LoginBy
        for right in rights_for(RegionSettings(login_by=by))
        if right.part == "portforward" and not right.optional
    ]
    assert needed == [LoginBy.PORT_FORWARD]


def test_role_asks_for_no_wildcard_and_no_way_to_more_rights() -> None:
    for right in rights_for(RegionSettings(login_by=LoginBy.PORT_FORWARD)):
        assert "*" not in (right.group, right.plural, *right.verbs)
        assert not {"escalate", "bind", "impersonate"} & set(right.verbs)
        assert right.group != "rbac.authorization.k8s.io"
        assert (right.plural, "list" in right.verbs) != ("secrets", True)


def test_files_to_apply_hold_the_role_that_is_checked() -> None:
    files = documents(PLAIN)
    things = list(yaml.safe_load_all(files["permissions.yaml"]))
    role = next(one for one in things if one["kind"] == "ClusterRole")
    assert role == cluster_role(PLAIN)
    assert "kubectl" in files["kubeconfig.sh"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("96", 96),
        ("95500m", Fraction(191, 2)),
        ("1Ki", 1024),
        ("2G", 2 * 10**9),
        ("1e3", 1000),
        ("", 0),
        ("x", 0),
    ],
)
def test_quantities(text: str, number: Fraction) -> None:
    assert amount(text) == number


def test_memory_in_mib() -> None:
    assert mib("1056Gi") == 1056 * 1024
