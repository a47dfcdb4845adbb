"""The Slinky adapter in trouble: other managers, an operator that stands still, jobs in the way, lost machines."""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from clusters.observation import Judgement, Verdict
from clusters.spec import ClusterSpec, NodeGroup
from console.errors import ConsoleError, Rejected
from slurm.kube.access import read_kubeconfig
from slurm.kube.client import Kube
from slurm.kube.errors import Unpermitted
from slurm.kube.kinds import CONTROLLER, NAMESPACE, NODE_SET, POD, SECRET, Thing
from slurm.provisioners.slinky.names import TEAM_LABEL
from tests.contracts.platforms import GPU, SPEC
from tests.kube.clusters import SlinkyPlatform, remove_namespace, slinky_on
from tests.kube.double.fixture import double  # noqa: F401
from tests.kube.double.operator import Double
from tests.kube.double.switches import flip
from tests.kube.rig.admin import Admin, slinky_crds

pytestmark = pytest.mark.timeout(300)
WITHIN_S = 60.0


@pytest.fixture(scope="module")
def cluster(kubernetes: Admin, kube: Kube, double: Double) -> Iterator[SlinkyPlatform]:  # noqa: F811
    """One for all tests; each makes of it what it needs."""
    kubernetes.install(slinky_crds())
    adapter = slinky_on(kube, f"trouble-{uuid.uuid4().hex[:6]}", "ctrouble0001")
    double.mind(adapter.site.names.namespace)
    yield SlinkyPlatform(adapter, double)
    adapter.terminate(lambda text: None)
    remove_namespace(kube, adapter.site.names.namespace)


@pytest.fixture
def switches(double: Double) -> Iterator[Callable[..., None]]:  # noqa: F811
    """Break the double within a test."""
    flipped: dict[str, None] = {}

    def turn(**values: object) -> None:
        flipped.update(dict.fromkeys(values))
        flip(double.home, **values)

    yield turn
    flip(double.home, **flipped)


def sized(*ordinals: int) -> ClusterSpec:
    return replace(SPEC, groups=(NodeGroup("slinky", GPU, ordinals), SPEC.groups[1]))


def until(what: str, is_so: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
    give_up = time.monotonic() + within_s
    while not (found := is_so()):
        assert time.monotonic() < give_up, f"not within {within_s:g} s: {what}"
        time.sleep(0.2)
    return found


def judged(cluster: SlinkyPlatform, spec: ClusterSpec, is_meant: Callable[[Judgement], object]) -> Judgement:
    """The first judgement of the kind, going through the stages up to it."""
    seen = ""

    def look() -> Judgement | None:
        nonlocal seen
        found = cluster.provisioner.judge(spec)
        seen = f"{found.verdict}: {found.why}"
        if not is_meant(found) and found.verdict is Verdict.APPLY_AGAIN:
            cluster.apply(spec)
        return found if is_meant(found) else None

    give_up = time.monotonic() + WITHIN_S
    while (found := look()) is None:
        assert time.monotonic() < give_up, f"the last was {seen}"
        time.sleep(0.2)
    return found


def run(cluster: SlinkyPlatform, *argv: str) -> str:
    done = cluster.provisioner.executor().run(argv)
    assert done.code == 0, done.stderr
    return done.stdout.decode().strip()


def a_job_on(cluster: SlinkyPlatform, node: str) -> str:
    job = run(
        cluster, "sbatch", "--parsable", "-t5", "-w", node, "-n1", "-o", "/dev/null", "--wrap", "sleep 300"
    )
    until(f"job {job} runs", lambda: run(cluster, "squeue", "-h", "-o", "%T", "-j", job) == "RUNNING")
    return job


def objects(cluster: SlinkyPlatform) -> dict[tuple[str, str], Thing]:
    scene = cluster.site.scene()
    return {(one["kind"], one["metadata"]["name"]): one for one in (*scene.resources, *scene.pods)}


def apply_as(kubernetes: Admin, manager: str, thing: Thing) -> None:
    """Server-side apply of somebody else, by force."""
    path = CONTROLLER.path(thing["metadata"]["namespace"], thing["metadata"]["name"])
    query = f"?fieldManager={manager}&force=true"
    kubernetes.api.ask("PATCH", path + query, thing, "application/apply-patch+yaml")


class TestWriting:
    def test_applying_twice_writes_nothing_and_restarts_nothing(self, cluster: SlinkyPlatform) -> None:
        cluster.make()
        before = objects(cluster)
        cluster.apply(SPEC)
        cluster.settle(SPEC)
        after = objects(cluster)
        assert cluster.said == ["Every object is as it should be: nothing had to be written."]
        assert {key: one["metadata"]["uid"] for key, one in after.items()} == {
            key: one["metadata"]["uid"] for key, one in before.items()
        }
        generations = [one["metadata"].get("generation") for one in before.values() if one["kind"] != "Pod"]
        assert generations == [
            one["metadata"].get("generation") for one in after.values() if one["kind"] != "Pod"
        ]

    def test_another_teams_namespace_is_not_written_to(self, cluster: SlinkyPlatform) -> None:
        cluster.make()
        space, kube = cluster.site.names.namespace, cluster.site.kube

        def give_to(team: str) -> None:
            kube.patch(NAMESPACE, space, "", {"metadata": {"labels": {TEAM_LABEL: team}}})

        give_to("others")
        try:
            with pytest.raises(Rejected, match="belongs to the team others"):
                cluster.apply(sized(0, 1, 2))
        finally:
            give_to(cluster.site.ref.team)
        cluster.settle(SPEC)

    def test_secrets_are_made_once(self, cluster: SlinkyPlatform) -> None:
        cluster.make()
        names, kube = cluster.site.names, cluster.site.kube
        keys = [kube.get(SECRET, name, names.namespace)["data"] for name in (names.slurm_key, names.jwt_key)]
        cluster.apply(SPEC)
        assert keys == [
            kube.get(SECRET, name, names.namespace)["data"] for name in (names.slurm_key, names.jwt_key)
        ]

    def test_an_edit_by_hand_is_shown_and_overwritten(
        self, cluster: SlinkyPlatform, kubernetes: Admin
    ) -> None:
        cluster.make()
        names = cluster.site.names
        text = cluster.site.kube.get(CONTROLLER, names.base, names.namespace)["spec"]["extraConf"]
        edited = text.replace("MaxJobCount=20000", "MaxJobCount=777")
        path = f"{CONTROLLER.path(names.namespace, names.base)}?fieldManager=kubectl-edit"
        kubernetes.api.merge(path, {"spec": {"extraConf": edited}})
        drift = until("the drift is seen", lambda: cluster.provisioner.observe().drift)
        assert "-MaxJobCount=20000" in drift and "+MaxJobCount=777" in drift
        cluster.apply(SPEC)
        cluster.settle(SPEC)
        until("the drift is gone", lambda: cluster.provisioner.observe().drift == "")
        assert "MaxJobCount             = 20000" in run(cluster, "scontrol", "show", "config")

    def test_a_field_of_another_manager_is_left_to_it(
        self, cluster: SlinkyPlatform, kubernetes: Admin
    ) -> None:
        cluster.make()
        names, kube = cluster.site.names, cluster.site.kube
        theirs = {
            "apiVersion": CONTROLLER.api_version,
            "kind": CONTROLLER.name,
            "metadata": {"name": names.base, "namespace": names.namespace},
        }
        apply_as(kubernetes, "argocd", {**theirs, "spec": {"extraConf": "MaxJobCount=5\n"}})
        try:
            with pytest.raises(Rejected) as caught:
                cluster.apply(SPEC)
            assert "argocd" in caught.value.message
            assert [problem.path for problem in caught.value.problems] == ["spec.extraConf"]
            found = kube.get(CONTROLLER, names.base, names.namespace)["spec"]["extraConf"]
            assert found == "MaxJobCount=5\n"
        finally:
            apply_as(kubernetes, "argocd", theirs)
        cluster.make()

    def test_a_right_that_is_missing_is_named(self, cluster: SlinkyPlatform, kubernetes: Admin) -> None:
        namespace = cluster.site.names.namespace
        account = f"system:serviceaccount:{namespace}:narrow"
        kubernetes.allow(account, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}])
        narrow = Kube(read_kubeconfig(kubernetes.token_kubeconfig(namespace, "narrow")))
        adapter = slinky_on(narrow, namespace.removesuffix("-research"), "ctrouble0001")
        with pytest.raises(Unpermitted) as caught:
            adapter.apply(SPEC.with_slurm_conf("MaxJobCount=12345\n"), lambda text: None)
        assert (caught.value.verb, caught.value.resource) == ("patch", "configmaps")
        narrow.close()


class TestStandstill:
    def test_an_operator_that_does_nothing_is_named(self, cluster: SlinkyPlatform, switches: Any) -> None:
        cluster.make()
        switches(dead=True)
        cluster.apply(sized(0, 1, 2))
        found = judged(cluster, sized(0, 1, 2), lambda j: "slurm-operator" in j.why)
        assert found.verdict is Verdict.WAITING and "The operator has not looked at NodeSet" in found.why
        switches(dead=False)
        cluster.make()

    def test_a_silent_rest_service_freezes_scaling_and_is_told(
        self, cluster: SlinkyPlatform, switches: Any
    ) -> None:
        cluster.make()
        switches(rest_away=True)
        cluster.apply(sized(0, 1, 2))
        found = judged(cluster, sized(0, 1, 2), lambda j: "REST service" in j.why)
        assert found.verdict is Verdict.WAITING
        until("the page tells", lambda: "rest" in _not_up(cluster))
        switches(rest_away=False)
        cluster.settle(sized(0, 1, 2))
        cluster.make()

    def test_a_worker_that_never_registers_is_told_as_such(
        self, cluster: SlinkyPlatform, switches: Any
    ) -> None:
        cluster.make()
        switches(unregistered=["slinky-2"])
        cluster.apply(sized(0, 1, 2))
        found = judged(cluster, sized(0, 1, 2), lambda j: "does not register" in j.why)
        assert found.why.startswith("Waiting for slinky-2 to register")
        switches(unregistered=[])
        cluster.make()

    def test_machines_that_are_missing_are_counted(self, cluster: SlinkyPlatform) -> None:
        cluster.make()
        huge = replace(GPU, gpus=9)
        spec = replace(SPEC, groups=(*SPEC.groups, NodeGroup("huge", huge, (0,))))
        cluster.apply(spec)
        found = judged(cluster, spec, lambda j: "no machine takes it" in j.why)
        assert "with too little nvidia.com/gpu" in found.why
        cluster.make()
        names = cluster.site.names
        assert cluster.site.kube.find(NODE_SET, names.node_set("huge"), names.namespace) is None

    def test_an_image_that_cannot_be_pulled_is_told(self, cluster: SlinkyPlatform, switches: Any) -> None:
        cluster.make()
        switches(image_pull=["login"])
        cluster.provisioner.restart("login", lambda text: None)
        found = judged(cluster, SPEC, lambda j: "cannot be pulled" in j.why)
        assert found.verdict is Verdict.WAITING
        switches(image_pull=[])
        cluster.make()


def _not_up(cluster: SlinkyPlatform) -> dict[str, str]:
    return {p.kind: p.detail for p in cluster.provisioner.observe().parts if p.state.value != "up"}


class TestScalingIn:
    def test_it_waits_for_jobs_and_takes_the_named_node(self, cluster: SlinkyPlatform) -> None:
        cluster.make(sized(0, 1, 2))
        job = a_job_on(cluster, "slinky-1")
        less = sized(0, 2)
        cluster.apply(less)
        found = judged(cluster, less, lambda j: j.patient)
        assert job in found.why and "slinky-1" in found.why
        run(cluster, "scancel", job)
        cluster.settle(less)
        assert {one.slurm for one in cluster.site.scene().workers} == set(less.node_names)
        assert "slinky-1" not in run(cluster, "sinfo", "-h", "-N", "-o", "%N")
        cluster.make()

    def test_given_up_it_puts_everything_back(self, cluster: SlinkyPlatform) -> None:
        cluster.make(sized(0, 1, 2))
        job = a_job_on(cluster, "slinky-1")
        cluster.apply(sized(0, 2))
        judged(cluster, sized(0, 2), lambda j: j.patient)
        cluster.apply(sized(0, 1, 2))
        cluster.settle(sized(0, 1, 2))
        states = {n.name: n.state.word for n in cluster.provisioner.observe().nodes or ()}
        assert {states[name] for name in ("slinky-0", "slinky-2")} == {"idle"} and states[
            "slinky-1"
        ] == "mixed"
        assert not [one for one in cluster.site.scene().workers if one.cost or one.cordoned]
        run(cluster, "scancel", job)
        cluster.make()

    def test_with_force_the_jobs_end(self, cluster: SlinkyPlatform) -> None:
        cluster.make(sized(0, 1, 2))
        job = a_job_on(cluster, "slinky-1")
        give_up = time.monotonic() + WITHIN_S
        while (found := cluster.provisioner.judge(sized(0, 2))).verdict is not Verdict.DONE:
            assert time.monotonic() < give_up, found.why
            cluster.provisioner.apply(sized(0, 2), cluster.said.append, force=True)
            time.sleep(0.5)
        assert any(f"Cancelled {job}" in sentence for sentence in cluster.said)
        cluster.make()


class TestNodes:
    def test_a_polite_restart_waits_for_the_job_and_returns_the_node(self, cluster: SlinkyPlatform) -> None:
        cluster.make()
        job, uid = a_job_on(cluster, "slinky-1"), _uid(cluster, "slinky-1")
        cluster.provisioner.restart("slinky-1", lambda text: None, when_idle=True)
        until(
            "it is seen as waiting",
            lambda: "waits for its jobs" in _not_up(cluster).get("worker", "").lower(),
        )
        assert cluster.provisioner.revive() == ()
        assert _uid(cluster, "slinky-1") == uid
        run(cluster, "scancel", job)
        until("it takes jobs again", lambda: _revived(cluster) and _state(cluster, "slinky-1") == "idle")
        assert _uid(cluster, "slinky-1") != uid

    def test_a_lost_machine_shows_and_touches_nothing_else(
        self, cluster: SlinkyPlatform, kubernetes: Admin
    ) -> None:
        cluster.make()
        lost = next(one for one in cluster.site.scene().workers if one.slurm == "slinky-1").machine
        others = {one.slurm: one.uid for one in cluster.site.scene().workers if one.machine != lost}
        kubernetes.lose_node(lost)
        try:
            until("the page tells", lambda: "NotReady" in _machine_state(cluster, "slinky-1"))
            assert {s: u for s, u in _uids(cluster).items() if s in others} == others
        finally:
            kubernetes.find_node(lost)
        cluster.make()


def _uids(cluster: SlinkyPlatform) -> dict[str, str]:
    return {one.slurm: one.uid for one in cluster.site.scene().workers}


def _uid(cluster: SlinkyPlatform, node: str) -> str:
    return _uids(cluster).get(node, "")


def _revived(cluster: SlinkyPlatform) -> bool:
    cluster.provisioner.revive()
    return True


def _state(cluster: SlinkyPlatform, node: str) -> str:
    nodes = cluster.provisioner.observe().nodes or ()
    return next((one.state.word for one in nodes if one.name == node), "")


def _machine_state(cluster: SlinkyPlatform, node: str) -> str:
    nodes = cluster.provisioner.observe().nodes or ()
    return next((one.machine_state for one in nodes if one.name == node), "")


def test_a_namespace_that_was_deleted_by_hand_is_said_and_made_again(
    cluster: SlinkyPlatform, kube: Kube
) -> None:
    cluster.make()
    remove_namespace(kube, cluster.site.names.namespace)
    until("it is seen", lambda: "Nothing of" in cluster.provisioner.observe().problem)
    with pytest.raises(ConsoleError):
        cluster.provisioner.login()
    cluster.make()
    assert cluster.site.kube.find(POD, cluster.site.names.controller_pod, cluster.site.names.namespace)
