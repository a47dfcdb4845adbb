"""Life scripts as objects of the operator's: ConfigMaps, the Controller's references, hooks of containers."""

from dataclasses import replace
from typing import Any

import pytest

from clusters.acts import Does, Edit, Fate, PartKind
from clusters.life_scripts import Hook, file_of
from clusters.spec import LifeScripts
from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.foresight import foresee
from slurm.provisioners.slinky.pods import init_of
from slurm.provisioners.slinky.render import render
from slurm.provisioners.slinky.scripts import INIT_PLACE
from tests.slurm.slinky.designs import DEMO, design_of

TEXT = "#!/bin/bash\nexit 0\n"
NONE = design_of(replace(DEMO, scripts=LifeScripts()))


def design(**texts: str) -> Design:
    return design_of(replace(DEMO, scripts=LifeScripts(**texts)))


def named(things: tuple[Thing, ...], kind: str, end: str = "") -> Any:
    return next(t for t in things if t["kind"] == kind and t["metadata"]["name"].endswith(end))


def touches(after: Design) -> list[tuple[PartKind, Does, Fate]]:
    act = Edit(NONE.spec, after.spec)
    found = foresee(act, render(NONE), render(after), after.names)
    return [(touch.part, touch.does, touch.jobs) for touch in found]


@pytest.mark.parametrize(
    ("hook", "field"),
    [
        ("worker_prolog", "prologScriptRefs"),
        ("worker_epilog", "epilogScriptRefs"),
        ("controller_prolog", "prologSlurmctldScriptRefs"),
        ("controller_epilog", "epilogSlurmctldScriptRefs"),
    ],
)
def test_a_prolog_is_one_file_in_the_config_map_that_the_controller_names(hook: str, field: str) -> None:
    made = design(**{hook: TEXT})
    things = render(made)
    controller = named(things, "Controller")
    (ref,) = controller["spec"][field]
    file = file_of(made.spec.scripts, Hook(hook))
    assert named(things, "ConfigMap", ref["name"])["data"] == {file: TEXT}
    assert controller["spec"]["extraConf"].endswith(f"# Prologs and epilogs: {file}\n")
    assert [thing["kind"] for thing in things].index("ConfigMap") < list(things).index(controller)


def test_the_controller_names_the_same_config_maps_whatever_is_in_them() -> None:
    """Another reference would have the operator make the controller's pod anew."""
    one, other = (named(render(d), "Controller")["spec"] for d in (NONE, design(worker_prolog=TEXT)))
    assert one.pop("extraConf") != other.pop("extraConf") and one == other
    assert all("data" not in t for t in render(NONE) if t["metadata"]["name"].endswith(("prolog", "-init")))


def test_a_prolog_is_read_by_the_controller_and_restarts_nothing() -> None:
    assert touches(design(worker_prolog=TEXT)) == [(PartKind.CONTROLLER, Does.READS, Fate.GOES_ON)]


def test_a_worker_init_renews_workers_some_at_a_time_when_their_jobs_have_ended() -> None:
    found = touches(design(worker_init=TEXT))
    assert found == [(PartKind.WORKERS, Does.RESTARTS, Fate.AWAITED)] * len(DEMO.groups)


def test_a_login_init_renews_the_login_node() -> None:
    assert touches(design(login_init=TEXT)) == [(PartKind.LOGIN, Does.RESTARTS, Fate.GOES_ON)]


@pytest.mark.parametrize(
    ("hook", "kind", "container"), [("worker_init", "NodeSet", "slurmd"), ("login_init", "LoginSet", "login")]
)
def test_an_init_script_is_what_its_container_starts_with(hook: str, kind: str, container: str) -> None:
    made = design(**{hook: TEXT})
    spec = named(render(made), kind)["spec"]
    command = spec[container]["lifecycle"]["postStart"]["exec"]["command"]
    assert command == [f"{INIT_PLACE}/{file_of(made.spec.scripts, Hook(hook))}"]
    assert INIT_PLACE in {mount["mountPath"] for mount in spec[container]["volumeMounts"]}
    volume = next(v for v in spec["template"]["spec"]["volumes"] if v["name"] == "init-scripts")
    assert volume["configMap"]["defaultMode"] == 0o755
    assert init_of({"spec": {"containers": [spec[container]]}})
    assert "lifecycle" not in named(render(NONE), kind)["spec"][container]
