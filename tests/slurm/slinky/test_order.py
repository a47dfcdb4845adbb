"""In which order objects are written when a cluster comes up and when it is upgraded."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.order import MAIN, forgot_its_nodes, image_of, next_round, runs
from slurm.provisioners.slinky.render import render
from slurm.provisioners.slinky.restarts import part_of
from tests.slurm.slinky.designs import DEMO, design_of

NAMES = design_of().names
OLD = render(design_of())
NEW = render(design_of(replace(DEMO, slurm_version="26.11")))
PARTS = ("accounting", "controller", "restapi", "slinky", "cpu-workers", "login")


def workload(thing: Thing, image: str = "", **status: int) -> Any:
    """What the operator made of an object, all its pods ready."""
    count = thing["spec"].get("replicas", 1)
    ready = {"observedGeneration": 1, "replicas": count, "updatedReplicas": count, "readyReplicas": count}
    container = {"name": MAIN[thing["kind"]], "image": image or image_of(thing)}
    if thing["kind"] == "NodeSet":
        return {**thing, "status": {**ready, **status}}
    spec = {"replicas": count, "template": {"spec": {"containers": [container]}}}
    return {"kind": "Child", "metadata": {"generation": 1}, "spec": spec, "status": {**ready, **status}}


def ready(things: Iterable[Thing], *parts: str) -> dict[str, Any]:
    return {part: workload(thing) for thing in things if (part := part_of(thing, NAMES)) in parts}


def parts(things: Iterable[Thing]) -> list[str]:
    return [part for thing in things if (part := part_of(thing, NAMES))]


def test_a_new_cluster_is_written_at_once():
    found = next_round(OLD, (), {}, NAMES)
    assert found.things == OLD and found.waits_for == ""


def test_a_change_without_a_new_image_waits_for_nothing():
    """Not even where a part is sick: that may be why it is changed."""
    found = next_round(render(design_of(replace(DEMO, slurm_conf=""))), OLD, {}, NAMES)
    assert parts(found.things) == list(PARTS) and found.waits_for == ""


@pytest.mark.parametrize("done", range(len(PARTS)))
def test_images_change_one_part_after_the_other(done):
    live = [new if part_of(new, NAMES) in PARTS[:done] else old for old, new in zip(OLD, NEW, strict=True)]
    workloads = {**ready(OLD, *PARTS[done:]), **ready(NEW, *PARTS[:done])}
    found = next_round(NEW, live, workloads, NAMES)
    assert parts(found.things) == list(PARTS[: done + 1])
    assert bool(found.waits_for) == (done < len(PARTS) - 1)


def test_a_wait_says_for_what():
    live = [NEW[i] if part_of(NEW[i], NAMES) == "accounting" else OLD[i] for i in range(len(OLD))]
    found = next_round(NEW, live, ready(OLD, *PARTS), NAMES)
    assert found.waits_for == "accounting to run 26.11-ubuntu24.04"
    live = [NEW[i] if part_of(NEW[i], NAMES) != "login" else OLD[i] for i in range(len(OLD))]
    found = next_round(NEW, live, ready(NEW, "accounting", "controller", "restapi"), NAMES)
    assert found.waits_for == "the workers of slinky to run 26.11-ubuntu24.04"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, True),
        ({"observedGeneration": 0}, False),
        ({"readyReplicas": 3}, False),
        ({"updatedReplicas": 2}, False),
        ({"replicas": 5}, False),
    ],
)
def test_workers_run_their_image_once_all_are_new_and_ready(status, expected):
    node_set = next(thing for thing in OLD if thing["kind"] == "NodeSet")
    assert runs(workload(node_set, **status), image_of(node_set), "slurmd") is expected


def test_a_child_with_the_old_image_does_not_run_the_new_one():
    controller = next(thing for thing in OLD if thing["kind"] == "Controller")
    assert runs(workload(controller), image_of(controller), "slurmctld")
    assert not runs(workload(controller, image="old:1"), image_of(controller), "slurmctld")
    assert not runs(None, image_of(controller), "slurmctld")


def test_a_controller_that_lost_its_nodes_is_recognised_by_its_last_words():
    fatal = "slurmctld: fatal: Invalid node names in partition train: slinky-3"
    assert forgot_its_nodes(["slurmctld: starting", fatal])
    assert not forgot_its_nodes(["slurmctld: fatal: Unable to determine this slurmd's NodeName"])


def test_a_stage_has_its_own_sizes():
    things = render(design_of(replicas={"slinky": 7}))
    assert [t["spec"]["replicas"] for t in things if t["kind"] == "NodeSet"] == [7, 2]


def going_back(*risen: str) -> tuple[Thing, ...]:
    """Objects of an upgrade that is undone when these parts had come up with their new image."""
    live = [new if part_of(new, NAMES) in risen else old for old, new in zip(OLD, NEW, strict=True)]
    others = [part for part in PARTS if part not in risen]
    found = next_round(OLD, live, {**ready(OLD, *others), **ready(NEW, *risen)}, NAMES)
    assert [sentence.split()[0] for sentence in found.kept] == [
        word for part, word in (("accounting", "Accounting"), ("controller", "The")) if part in risen
    ]
    return found.things


def images(things: Iterable[Thing]) -> dict[str, str]:
    found = {part_of(thing, NAMES): image_of(thing).rpartition(":")[2] for thing in things}
    return {part: tag.partition("-")[0] for part, tag in found.items() if part}


def test_what_has_rewritten_its_files_does_not_go_back_and_all_else_does():
    found = images(going_back("accounting", "controller", "restapi"))
    assert {part for part, version in found.items() if version == "26.11"} == {"accounting", "controller"}
    assert set(found) == set(PARTS)
    controller = next(t for t in going_back("accounting", "controller") if t["kind"] == "Controller")
    assert controller["spec"]["reconfigure"] == {"image": image_of(controller)}


def test_a_controller_that_never_came_up_goes_back():
    """And the others after it."""
    live = [new if part_of(new, NAMES) in PARTS[:3] else old for old, new in zip(OLD, NEW, strict=True)]
    crashed = {"controller": workload(NEW[parts_at(NEW, "controller")], readyReplicas=0)}
    workloads = {**ready(OLD, *PARTS[3:]), **ready(NEW, "accounting", "restapi"), **crashed}
    found = next_round(OLD, live, workloads, NAMES)
    assert images(found.things)["accounting"] == "26.11"
    assert images(found.things)["controller"] == "26.05"
    assert found.waits_for == "the controller to run 26.05-ubuntu24.04"


def parts_at(things: Iterable[Thing], part: str) -> int:
    return next(i for i, thing in enumerate(things) if part_of(thing, NAMES) == part)
