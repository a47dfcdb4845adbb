"""slurm.conf from a spec: what it looks like, and that nothing breaks out of its place."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.spec import ClusterSpec, NodeGroup, PartitionSpec, Shape
from slurm.render import BEGIN, DEFAULT_USER_CONF, END, render_conf, user_part

GPU = NodeGroup("slinky", Shape("h100", 8, 64000, 8), (0, 1, 3))
CPU = NodeGroup("cpu-workers", Shape("cpu", 8, 32000), (0,))
SPEC = ClusterSpec("sandbox", "24.11", "24.11", (GPU, CPU), slurm_conf=DEFAULT_USER_CONF)
HEAD = "ClusterName=sandbox\nNodeName=slinky-0 CPUs=8\n"


def test_whole_file_reads_head_user_block_partitions():
    own = PartitionSpec(
        "night",
        "slinky-[0-1]",
        max_time_minutes=60,
        default_time_minutes=5,
        priority_tier=10,
        oversubscribe="FORCE:4",
        allow_groups=("ml", "ops"),
    )
    rendered = render_conf(replace(SPEC, slurm_conf="MinJobAge=60 # short\n", partitions=(own,)), HEAD)
    assert rendered.text == (
        "ClusterName=sandbox\n"
        "NodeName=slinky-0 CPUs=8\n"
        f"{BEGIN}\n"
        "MinJobAge=60 # short\n"
        f"{END}\n"
        "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        "PartitionName=slinky Nodes=slinky-[0-1,3] MaxTime=INFINITE State=UP\n"
        "PartitionName=cpu-workers Nodes=cpu-workers-[0] MaxTime=INFINITE State=UP\n"
        "PartitionName=night Nodes=slinky-[0-1] MaxTime=60 DefaultTime=5 State=UP PriorityTier=10 "
        "OverSubscribe=FORCE:4 AllowGroups=ml,ops\n"
    )
    assert (rendered.user_first_line, rendered.user_last_line) == (4, 4)


def test_own_default_partition_takes_the_default_from_all():
    text = render_conf(replace(SPEC, partitions=(PartitionSpec("mine", "ALL", default=True),))).text
    assert text.count("Default=YES") == 1 and "PartitionName=mine Nodes=ALL Default=YES" in text


@pytest.mark.parametrize(
    "field",
    [
        {"name": "a\nSlurmUser=root"},
        {"nodes": "ALL MaxTime=1"},
        {"qos": "x#"},
        {"state": "UP\t"},
        {"allow_groups": ("a b",)},
        {"oversubscribe": "YES\x0bX"},
        {"name": "a=b"},
    ],
)
def test_partition_fields_that_smuggle_are_refused(field):
    partition = replace(PartitionSpec("own", "ALL"), **field)
    with pytest.raises(ValueError, match="misread"):
        render_conf(replace(SPEC, partitions=(partition,)))


@pytest.mark.parametrize(
    "text", ["A=1\\", "A=1\\  \n", "# c \\\n", f"{END}\nSlurmUser=root\n", "A=1\x0bB", "A\r\n", "a\u2028b"]
)
def test_user_text_that_would_leave_its_block_is_refused(text):
    with pytest.raises(ValueError, match="settings"):
        render_conf(SPEC.with_slurm_conf(text))


user_text = st.text(st.characters(blacklist_categories=("Cs",))).map(
    lambda t: "".join(f"{x}\n" for x in t.split("\n"))
)


@given(user_text)
def test_user_block_comes_back_as_written_or_is_refused(text):
    try:
        rendered = render_conf(SPEC.with_slurm_conf(text), HEAD)
    except ValueError:
        return
    lines = rendered.text.split("\n")
    assert lines[rendered.user_first_line - 2] == BEGIN and lines[rendered.user_last_line] == END
    back = user_part(rendered.text, rendered)
    assert (back.text, back.problems) == (text, ())


def test_editor_may_change_the_block_but_not_the_locked_lines():
    rendered = render_conf(SPEC, HEAD)
    edited = rendered.text.replace("MinJobAge=300", "MinJobAge=60\r\nDebugFlags=Gres")
    part = user_part(edited, rendered)
    assert part.problems == () and "MinJobAge=60\nDebugFlags=Gres\n" in part.text
    broken = user_part(edited.replace("ClusterName=sandbox", "ClusterName=other"), rendered)
    assert [(p.path, p.line) for p in broken.problems] == [("slurm_conf", 1)]
    assert "it was: ClusterName=sandbox" in broken.problems[0].message
    assert [p.line for p in user_part(edited + "SlurmUser=root\n", rendered).problems] == [
        edited.count("\n") + 1
    ]
    assert user_part(rendered.text.replace(END, ""), rendered).problems


def test_platform_lines_with_an_empty_block():
    rendered = render_conf(SPEC.with_slurm_conf(""), HEAD)
    assert (rendered.user_first_line, rendered.user_last_line) == (4, 3)
    assert user_part(rendered.text, rendered).text == ""
