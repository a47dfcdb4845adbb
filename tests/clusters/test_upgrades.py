"""Which release may follow which, as Slurm's Upgrade Guide has it."""

from dataclasses import replace

import pytest

from clusters.spec import ClusterSpec, NodeGroup, Shape
from clusters.upgrades import takes_over_from, upgrade_problems

SPEC = ClusterSpec(
    name="demo",
    image="slurm-24-11",
    slurm_version="24.11",
    groups=(NodeGroup("slinky", Shape("gpu-8x", 64, 512_000, 8), (0, 1)),),
)


# The table of slurm.schedmd.com/upgrades.html, Compatibility Window.
@pytest.mark.parametrize(
    ("version", "before"),
    [
        ("23.02", ("22.05", "21.08")),
        ("23.11", ("23.02", "22.05")),
        ("24.05", ("23.11", "23.02")),
        ("24.11", ("24.05", "23.11", "23.02")),
        ("25.05", ("24.11", "24.05", "23.11")),
        ("25.11", ("25.05", "24.11", "24.05")),
        ("26.05", ("25.11", "25.05", "24.11")),
        ("24.08", ()),
        ("", ()),
        ("host", ()),
        ("26.05.1", ()),
    ],
)
def test_a_release_takes_over_from_those_that_the_guide_names(version, before):
    assert takes_over_from(version) == before


def going(old: str, new: str) -> list[str]:
    before = replace(SPEC, image=f"slurm-{old}", slurm_version=old)
    after = replace(SPEC, image=f"slurm-{new}", slurm_version=new)
    return [f"{p.path}: {p.message} {p.hint}" for p in upgrade_problems(before, after)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("24.11", "26.05", ()),
        ("24.11", "25.05", ()),
        ("26.05", "24.11", ("does not go back from 26.05 to 24.11", "Reverting an Upgrade", "Clone")),
        ("22.05", "24.11", ("too far at once", "24.05, 23.11, 23.02", "Compatibility Window", "to 23.11.")),
        ("24.11", "26.11", ("too far at once", "to 26.05.")),
        ("24.11", "26.08", ("26.08 is no release of Slurm",)),
    ],
)
def test_a_step_that_slurm_does_not_take_is_refused_with_its_rule(old, new, words):
    found = going(old, new)
    assert bool(found) == bool(words)
    for word in words:
        assert word in found[0]
        assert found[0].startswith("image: ")


def test_another_image_of_the_same_release_is_no_upgrade():
    assert upgrade_problems(SPEC, replace(SPEC, image="slurm-24-11-b")) == ()


@pytest.mark.parametrize("more", [{"slurm_conf": "MaxJobCount=5\n"}, {"groups": ()}, {"ssh_keys": ("k",)}])
def test_an_upgrade_goes_alone(more):
    after = replace(SPEC, image="slurm-26-05", slurm_version="26.05", **more)
    assert [p.message for p in upgrade_problems(SPEC, after)] == ["Another image goes alone."]
