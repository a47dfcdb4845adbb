"""What is behind the double's pods is reached through the API server: commands, logs, ports, a login; and switches."""

import asyncio
import base64
import socket
import time
from pathlib import Path

import asyncssh
import pytest

from clusters.provisioner import Completed
from console.errors import Unavailable
from slurm.executors.pod import PodExecutor
from slurm.kube.client import Kube
from slurm.kube.kinds import CLAIM, CONFIG_MAP, CONTROLLER, LOGIN_SET, NODE_SET, POD, SECRET, SERVICE
from tests.contracts.platforms import on_login
from tests.kube.double.choice import is_ready
from tests.kube.double.demo import EXTRA_CONF, demo, thing
from tests.kube.double.operator import Double
from tests.kube.double.world import World
from tests.kube.rig.admin import Admin
from tests.kube.test_double import waiting

CONF = "/etc/slurm/slurm.conf"


@pytest.fixture
def executor(kube: Kube, world: World) -> PodExecutor:
    return PodExecutor(kube, world.namespace, "demo-controller-0", "slurmctld")


# Commands


def test_commands_in_the_controllers_pod_are_slurms_own(executor: PodExecutor) -> None:
    done = executor.run(["sinfo", "-h", "-N", "-o", "%N %T"])
    assert done.code == 0
    assert {f"slinky-{n} idle" for n in range(3)} <= set(done.stdout.decode().splitlines())


def test_a_command_gets_its_input_and_its_status_comes_back(executor: PodExecutor) -> None:
    assert executor.run(["cat"], stdin=b"\x00two\nlines\xff").stdout == b"\x00two\nlines\xff"
    assert executor.run(["sh", "-c", "echo oops >&2; exit 7"]) == Completed(7, b"", "oops\n")


def test_a_command_takes_no_longer_than_a_tenth_of_a_second_more(executor: PodExecutor) -> None:
    """Through the API server, kwok, the shim and nsenter; the median of nine, on a busy machine."""
    times = []
    for _ in range(9):
        began = time.monotonic()
        executor.run(["true"])
        times.append(time.monotonic() - began)
    assert sorted(times)[4] < 0.5, times


def test_the_pod_shows_the_file_that_the_operator_wrote(executor: PodExecutor, world: World) -> None:
    written = world.get(CONFIG_MAP, "demo-config")["data"]["slurm.conf"]
    assert executor.run(["cat", CONF]).stdout.decode() == written


def test_jobs_are_submitted_through_the_pod(executor: PodExecutor, world: World) -> None:
    done = executor.run(
        ["sbatch", "--parsable", "-t1", "-o", "/var/tmp/%j.out"], stdin=b"#!/bin/sh\nhostname\n"
    )
    job = done.stdout.decode().strip()
    world.until("it is done", lambda: world.job_state(job) == "COMPLETED")
    assert executor.run(["cat", f"/var/tmp/{job}.out"]).stdout.startswith(b"slinky-")


def test_a_pod_of_somebodys_own_runs_slurms_programs_but_no_cluster(kube: Kube, world: World) -> None:
    container = {"name": "slurmctld", "image": "ghcr.io/slinkyproject/slurmctld:26.05-ubuntu24.04"}
    world.api.create(thing(POD, world.namespace, "own", spec={"containers": [container]}))
    executor = PodExecutor(kube, world.namespace, "own", "slurmctld")
    world.until("it runs", lambda: is_ready(world.get(POD, "own")))
    world.until("commands run", lambda: can_run(executor))
    assert executor.run(["slurmctld", "-V"]).stdout.startswith(b"slurm")
    assert executor.run(["sinfo"]).code != 0
    world.api.delete(world.get(POD, "own"))


def can_run(executor: PodExecutor) -> bool:
    try:
        return executor.run(["true"]).code == 0
    except Unavailable:
        return False


# The log of a controller that crashes


def test_the_last_words_of_a_crashing_controller_are_in_its_log(kube: Kube, world: World) -> None:
    bad = EXTRA_CONF + "PartitionName=own Nodes=slinky-88\n"
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": bad}})
    world.until("it crash-loops", lambda: waiting(world.pod("controller")) == "CrashLoopBackOff")
    for previous in (False, True):
        text = kube.log(world.namespace, "demo-controller-0", "slurmctld", lines=5, previous=previous)
        assert "fatal: Invalid node names in partition own" in text
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF}})
    world.until("it is ready", lambda: is_ready(world.pod("controller")))
    world.until("it answers", world.states)


# The login node


def test_a_certificate_signs_in_at_the_services_address(world: World) -> None:
    service = world.get(SERVICE, "demo-login")
    host = service["status"]["loadBalancer"]["ingress"][0]["ip"]
    with socket.create_connection((host, service["spec"]["ports"][0]["port"]), 5) as connection:
        assert sign_in(world, connection, "sinfo -h -o %R") == "all"


def test_a_certificate_signs_in_through_port_forward(kube: Kube, world: World) -> None:
    pod = world.pod("login")["metadata"]["name"]
    with kube.forward(world.namespace, pod, 22) as connection:
        assert sign_in(world, connection, "hostname") == "demo-login"


def test_a_node_port_leads_to_the_login_node(world: World) -> None:
    port = world.get(SERVICE, "demo-login")["spec"]["ports"][0]["nodePort"]
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        assert connection.recv(8) == b"SSH-2.0-"


def sign_in(world: World, connection: socket.socket, command: str) -> str:
    """Run a command as root with a certificate of the cluster's authority; the host key must be the Secret's."""
    encoded = world.get(SECRET, "demo-login-ssh-host-keys")["data"]["ssh_host_ed25519_key.pub"]
    host_key = asyncssh.import_public_key(base64.b64decode(encoded))
    key = asyncssh.generate_private_key("ssh-ed25519")
    certificate = world.authority.generate_user_certificate(key, "somebody", principals=["root"])

    async def talk() -> str:
        connection.setblocking(False)
        async with asyncssh.connect(
            "login",
            sock=connection,
            username="root",
            client_keys=[(key, certificate)],
            known_hosts=([host_key], [], []),
            config=None,
        ) as ssh:
            return str((await ssh.run(command, check=True)).stdout).strip()

    return asyncio.run(asyncio.wait_for(talk(), 20))


# Volumes


def test_a_claim_is_the_same_directory_for_workers_and_login(world: World) -> None:
    storage = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    world.api.create(thing(CLAIM, world.namespace, "shared", spec=storage))
    volume = {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}
    mount = {"name": "shared", "mountPath": "/data/shared"}
    slurmd = {"volumeMounts": [mount]}
    template = world.node_set()["spec"]["template"]["spec"]
    change = {"slurmd": slurmd, "template": {"spec": {**template, "volumes": [volume]}}}
    world.patch(NODE_SET, "demo-slinky", {"spec": change})
    login = world.get(LOGIN_SET, "demo-login")["spec"]
    mounts, volumes = (
        [*login["login"]["volumeMounts"], mount],
        [*login["template"]["spec"]["volumes"], volume],
    )
    world.patch(
        LOGIN_SET,
        "demo-login",
        {"spec": {"login": {"volumeMounts": mounts}, "template": {"spec": {"volumes": volumes}}}},
    )
    world.until("the workers are new", lambda: all(mounts_of(pod) for pod in world.pods("worker")), 120.0)
    world.until("all are idle", world.is_rested)
    world.slurm("srun", "-t1", "sh", "-c", "echo here > /data/shared/mark")
    home = world.double.room_home(world.namespace, world.name)
    world.until("the login node is new", lambda: all(mounts_of(pod) for pod in world.pods("login")))
    world.until("it is there", lambda: on_login(home, "cat /data/shared/mark") == "here\n")


def mounts_of(pod: object) -> list[str]:
    mounts = pod["spec"]["containers"][0]["volumeMounts"]  # type: ignore[index]
    return [each["mountPath"] for each in mounts if each["name"] == "shared"]


# Other switches


def test_no_pods_are_made_where_they_are_refused(world: World) -> None:
    with world.broken(no_pods=True):
        world.scale(4)
        world.until("it says so", lambda: world.events("FailedCreate"))
        assert len(world.workers()) == 3
        world.scale(3)


def test_a_controller_can_be_made_to_crash(world: World) -> None:
    with world.broken(controller_crash=True):
        world.until("it crash-loops", lambda: waiting(world.pod("controller")) == "CrashLoopBackOff")
    world.until("it is ready", lambda: is_ready(world.pod("controller")))
    world.until("it answers", world.states)


def test_without_daemons_pods_are_scaled_alone(kubernetes: Admin, kubeconfig: str, tmp_path: Path) -> None:
    namespace = kubernetes.add_namespace("double")
    try:
        with Double(kubeconfig, tmp_path, tree=None, namespaces=[namespace]) as double:
            world = World(double, kubeconfig, namespace, "paper")
            for each in demo(namespace, "paper", gpus=3):
                world.api.create(each)
            world.until("three idle", lambda: (world.node_set().get("status") or {}).get("slurmIdle") == 3)
            world.scale(2)
            world.until("the highest goes", lambda: world.workers() == ["paper-slinky-0", "paper-slinky-1"])
            assert not list(tmp_path.glob("rooms/*"))
    finally:
        kubernetes.delete_namespace(namespace)


def test_a_claim_that_nobody_provides_keeps_the_controller_pending(
    double: Double, kubernetes: Admin, kubeconfig: str
) -> None:
    namespace = kubernetes.add_namespace("double")
    world = World(double, kubeconfig, namespace, "unbound")
    try:
        with world.broken(unbound_claim=True):
            double.mind(namespace)
            for each in demo(namespace, "unbound"):
                world.api.create(each)
            world.until("the scheduler says why", lambda: world.events("FailedScheduling"))
        assert world.pod("controller")["status"]["phase"] == "Pending"
    finally:
        kubernetes.delete_namespace(namespace)
