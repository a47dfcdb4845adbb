"""Which nodes come and which go when a group's number changes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.scaling import coming, leaving, misfits, rescale
from clusters.spec import ClusterSpec, NodeGroup
from tests.cast import tiny_spec

SPEC = tiny_spec(nodes=4, cpu_nodes=2)


def with_ordinals(*ordinals: int) -> ClusterSpec:
    return replace(SPEC, groups=(NodeGroup("slinky", SPEC.groups[0].shape, ordinals),))


@pytest.mark.parametrize(
    ("have", "count", "chosen", "expected"),
    [
        ((0, 1, 2), 5, (), (0, 1, 2, 3, 4)),
        ((0, 1, 2), 2, (), (0, 1)),
        ((0, 1, 2), 0, (), ()),
        ((), 2, (), (0, 1)),
        ((0, 1, 3, 7), 5, (), (0, 1, 2, 3, 7)),
        ((0, 1, 3, 7), 7, (), (0, 1, 2, 3, 4, 5, 7)),
        ((0, 1, 3, 7), 3, (), (0, 1, 3)),
        ((0, 1, 2, 3), 3, ("slinky-1",), (0, 2, 3)),
        ((0, 1, 2, 3), 1, ("slinky-1", "slinky-0"), (2,)),
        ((0, 1, 2, 3), 2, ("slinky-0",), (1, 2)),
        ((0, 1, 2, 3), 4, ("slinky-0",), (0, 1, 2, 3)),
        ((0, 1), -1, (), ()),
    ],
)
def test_growth_fills_gaps_and_the_chosen_go_first(have, count, chosen, expected):
    found = rescale(with_ordinals(*have), {"slinky": count}, chosen).group("slinky")
    assert (found.ordinals if found else ()) == expected


def test_groups_that_are_not_named_stay():
    assert rescale(SPEC, {}) == SPEC
    less = rescale(SPEC, {"cpu-workers": 1}, ("cpu-workers-0",))
    assert leaving(SPEC, less) == ("cpu-workers-0",) and coming(SPEC, less) == ()
    assert coming(less, SPEC) == ("cpu-workers-0",)


def test_a_group_comes_with_its_first_node_and_goes_with_its_last():
    cpu = SPEC.groups[1].shape
    gpu_only = rescale(SPEC, {"cpu-workers": 0})
    assert [group.name for group in gpu_only.groups] == ["slinky"]
    assert rescale(gpu_only, {"cpu-workers": 2}, (), {"cpu-workers": cpu}) == SPEC
    assert rescale(gpu_only, {"cpu-workers": 0}, (), {"cpu-workers": cpu}) == gpu_only
    assert rescale(gpu_only, {"cpu-workers": 2}) == gpu_only

    cpu_only = rescale(SPEC, {"slinky": 0})
    found = rescale(cpu_only, {"slinky": 1}, (), {"slinky": SPEC.groups[0].shape})
    assert [group.name for group in found.groups] == ["slinky", "cpu-workers"]


@given(st.sets(st.integers(0, 20)), st.integers(0, 30))
def test_a_group_gets_its_number_and_loses_or_gains_only(have, count):
    before = with_ordinals(*sorted(have))
    after = rescale(before, {"slinky": count})
    assert len(after.node_names) == count and len(after.groups) == (count > 0)
    assert not (coming(before, after) and leaving(before, after))


@pytest.mark.parametrize(
    ("counts", "chosen", "said"),
    [
        ({"slinky": 3}, ("slinky-1",), []),
        ({"slinky": 3}, (), []),
        ({"slinky": 3}, ("slinky-9",), ["The cluster has no node slinky-9."]),
        ({}, ("slinky-1",), ["1 of slinky are chosen to go, but its number goes down by 0."]),
        ({"slinky": 5}, ("slinky-1",), ["1 of slinky are chosen to go, but its number goes down by 0."]),
        (
            {"slinky": 3},
            ("slinky-1", "slinky-2"),
            ["2 of slinky are chosen to go, but its number goes down by 1."],
        ),
    ],
)
def test_chosen_nodes_must_fit_the_numbers(counts, chosen, said):
    assert [problem.message for problem in misfits(SPEC, counts, chosen)] == said
