"""What a cluster's objects look like, and what they must never do."""

from base64 import b64decode
from dataclasses import replace
from typing import Any

import pytest
import yaml

from clusters.spec import NodeGroup
from slurm.kube.kinds import Thing
from slurm.kube.manifest import manifest
from slurm.provisioners.slinky.region import Database, DatabaseKind, RegionSettings
from slurm.provisioners.slinky.render import files, render
from slurm.provisioners.slinky.restarts import restarts_in
from slurm.provisioners.slinky.secrets import secret_objects
from tests.slurm.slinky.crds import faults, schemas
from tests.slurm.slinky.designs import DEMO, GOLDEN, GPU, KEY, design_of
from tests.slurm.slinky.golden import kept


def one(things: tuple[Thing, ...], kind: str) -> Any:
    return next(thing for thing in things if thing["kind"] == kind)


@pytest.mark.parametrize("name", GOLDEN)
def test_files_are_as_they_were_read_and_kept(name):
    assert files(GOLDEN[name]) == kept(name), "read the diff after `python -m tests.slurm.slinky.golden`"


@pytest.mark.parametrize("name", GOLDEN)
def test_every_object_fits_the_operators_schema(name):
    by_kind = schemas()
    slinky = [thing for thing in render(GOLDEN[name]) if thing["kind"] in by_kind]
    assert {thing["kind"] for thing in slinky} == {
        "Accounting",
        "Controller",
        "RestApi",
        "NodeSet",
        "LoginSet",
    }
    assert [fault for thing in slinky for fault in faults(by_kind[thing["kind"]], thing)] == []


def test_the_schema_check_finds_typos_types_and_what_is_missing():
    node_set = one(render(design_of()), "NodeSet")
    wrong = {"replicas": "2", "scalingmode": "x", "scalingMode": "Statefulset", "partition": {}}
    found = set(faults(schemas()["NodeSet"], {**node_set, "spec": wrong}))
    assert {".spec.replicas is no integer", ".spec.scalingmode is unknown"} < found
    assert ".spec.controllerRef is missing" in found and ".spec.partition.enabled is missing" in found


@pytest.mark.parametrize("name", GOLDEN)
def test_a_manifest_reads_back_as_its_object(name):
    for thing in render(GOLDEN[name]):
        assert yaml.safe_load(manifest(thing)) == thing


def test_labels_never_change_and_nothing_is_annotated():
    """The operator copies both to pods and starts new ones when they differ."""
    before = render(design_of())
    after = render(design_of(replace(DEMO, image="other", slurm_version="26.11", ssh_keys=(), slurm_conf="")))
    assert [t["metadata"] for t in before] == [t["metadata"] for t in after]
    assert not any("annotations" in t["metadata"] for t in before)


def test_restarts_survive_a_new_rendering():
    restarts = dict.fromkeys(
        ("accounting", "controller", "restapi", "login", "slinky", "cpu-workers"), "2030-01-01"
    )
    design = design_of(restarts=restarts)
    assert restarts_in(render(design), design.names) == restarts
    assert restarts_in(render(design_of()), design.names) == {}


def test_a_restart_touches_the_pods_of_its_part_only():
    before, after = render(design_of()), render(design_of(restarts={"slinky": "2030-01-01"}))
    changed = [new["metadata"]["name"] for old, new in zip(before, after, strict=True) if old != new]
    assert changed == ["demo-c0123456789ab-slinky"]


def test_new_ssh_keys_start_new_login_pods():
    before, after = render(design_of()), render(design_of(replace(DEMO, ssh_keys=())))
    old, new = one(before, "LoginSet")["spec"], one(after, "LoginSet")["spec"]
    assert old["rootSshAuthorizedKeys"] == f"{KEY}\n" and new["rootSshAuthorizedKeys"] == ""
    assert old["template"]["metadata"] != new["template"]["metadata"]


def test_a_gpu_model_cannot_reach_the_shell_of_the_image():
    for model in ("h100' $(id)", "h 100", "h100=1", 'h"'):
        group = replace(GPU, shape=replace(GPU.shape, gpu_model=model))
        with pytest.raises(ValueError, match="misread"):
            render(design_of(replace(DEMO, groups=(group,))))


def test_a_group_scaled_to_nothing_keeps_its_node_set():
    empty = NodeGroup("cpu-workers", GPU.shape, ())
    sets = [t for t in render(design_of(replace(DEMO, groups=(GPU, empty)))) if t["kind"] == "NodeSet"]
    assert [t["spec"]["replicas"] for t in sets] == [4, 0]


def test_what_is_referred_to_is_there_or_a_secret():
    things = render(design_of())
    secrets = secret_objects(design_of().names, RegionSettings(), bytes)
    names = {t["metadata"]["name"] for t in (*things[1:], *secrets)}
    text = "".join(manifest(t) for t in things)
    refs = {
        line.split(": ")[1]
        for line in text.splitlines()
        if line.strip().startswith(("name: demo-", "- name: demo-"))
    }
    assert refs == names


def test_keys_are_long_random_and_immutable():
    drawn: list[bytes] = []

    def random(size: int) -> bytes:
        drawn.append(bytes([len(drawn)]) * size)
        return drawn[-1]

    slurm, jwt, database, sssd = secret_objects(design_of().names, RegionSettings(), random)
    keys = [b64decode(slurm["data"]["slurm.key"]), b64decode(jwt["data"]["jwt.key"])]
    assert sorted(drawn) == sorted([*keys, bytes.fromhex(b64decode(database["data"]["password"]).decode())])
    assert [len(key) for key in keys] == [1024, 1024] and keys[0] != keys[1]
    assert slurm["immutable"] and jwt["immutable"] and "immutable" not in database
    assert b64decode(sssd["data"]["sssd.conf"]).startswith(b"[sssd]\n")


def test_an_existing_database_keeps_its_password():
    settings = RegionSettings(database=Database(DatabaseKind.EXISTING, "db"))
    database = secret_objects(design_of().names, settings, bytes, database_password="given")[2]
    assert b64decode(database["data"]["password"]) == b"given"
    assert not any(t["kind"] == "StatefulSet" for t in render(design_of(settings=settings)))


def test_nothing_secret_is_rendered():
    assert not any(thing["kind"] == "Secret" for design in GOLDEN.values() for thing in render(design))
