"""Host lists, as a person writes them into a partition."""

import pytest

from clusters.hostlist import MOST, HostlistError, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("slinky-0", ["slinky-0"]),
        ("slinky-[0-1,5,8-10]", ["slinky-0", "slinky-1", "slinky-5", "slinky-8", "slinky-9", "slinky-10"]),
        ("slinky-[0-1],cpu-workers-0", ["slinky-0", "slinky-1", "cpu-workers-0"]),
        ("gpu-[001-003]", ["gpu-001", "gpu-002", "gpu-003"]),
        ("rack[0-1]-n[0-1]", ["rack0-n0", "rack0-n1", "rack1-n0", "rack1-n1"]),
        ("n[1-2]x", ["n1x", "n2x"]),
        ("slinky-0,slinky-[0-1]", ["slinky-0", "slinky-1"]),
        (" slinky-0 ", ["slinky-0"]),
    ],
)
def test_lists_expand_in_order_each_name_once(text, names):
    assert list(expand(text)) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "a,,b",
        "a b",
        "n[",
        "n[]",
        "n[0",
        "n]0[",
        "n[a]",
        "n[1-]",
        "n[-1]",
        "n[3-1]",
        "n[1-2-3]",
        "n[[0]]",
    ]
    + ["n\n", "n;rm", "n[0-99999999999]", f"n[0-{MOST}]", "n[0-999]x[0-999]"],
)
def test_what_is_no_list_is_refused_and_large_ones_are_bounded(text):
    with pytest.raises(HostlistError):
        expand(text)
