"""The Partitions tab: what it lists, what its dialogs say as one types, and the changes that they make."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters.access import Door
from clusters.lifecycle import Status
from clusters.models import Change, Cluster, Partition
from clusters.spec import MAX_OWN_PARTITIONS, ClusterSpec, PartitionSpec, to_json
from console.errors import Conflict, Rejected
from slurm import partitions as acts
from slurm.partition_form import PartitionForm, initial_from, typed_minutes
from tests.cast import Cast, a_node, the_cast, tiny_cluster, tiny_spec
from tests.slurm.hands import Handed
from tests.slurm.job_rows import make_job
from tests.slurm.pages import at, signed_in, text_of
from tests.slurm.recorded_accounts import Recorded

pytestmark = pytest.mark.django_db
FILLED = {
    "name": "train",
    "nodes": "slinky-[0-1]",
    "max_time_minutes": "1-00:00:00",
    "state": "UP",
    "priority_tier": "5",
    "shares": "NO",
    "base": "1",
}


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team)


@pytest.fixture
def door(cluster: Cluster, cast: Cast) -> Door:
    return Door(cluster, cast.ada)


@pytest.fixture
def client(cast: Cast) -> Client:
    return signed_in(cast.ada)


def proposed(cluster: Cluster) -> tuple[PartitionSpec, ...]:
    change = Change.objects.get(cluster=cluster)
    assert change.revision
    return change.revision.parsed.partitions


# Whom it lets in


@pytest.fixture
def hands(cluster: Cluster, settings) -> Recorded:
    """Accounts root, allset, vision and llm, QOS normal, allset and short, and the Unix group wheel."""
    settings.PROVISIONERS["fake"] = "tests.slurm.hands.Handed"
    Handed.hands = Recorded(groups=("wheel",))
    return Handed.hands


def refused_fields(door: Door, partition: PartitionSpec) -> dict[str, str]:
    with pytest.raises(Rejected) as refused:
        acts.add(door, partition, base=1)
    return {problem.path: f"{problem.message} {problem.hint}" for problem in refused.value.problems}


def test_names_that_are_not_there_are_refused_at_their_fields_with_the_nearest_one(door: Door, hands) -> None:
    wanted = PartitionSpec(
        "train",
        "ALL",
        allow_accounts=("lmm", "vision"),
        allow_qos=("short", "nosuch", "other"),
        qos="shrt",
        allow_groups=("wheel", "whell"),
    )
    said = refused_fields(door, wanted)
    assert said.keys() == {"allow_accounts", "allow_qos", "qos", "allow_groups"}
    assert "There is no account lmm. Did you mean llm?" in said["allow_accounts"]
    assert "There is no QOS nosuch and other." in said["allow_qos"] and "Did you mean short?" in said["qos"]
    assert "There is no group whell. Did you mean wheel?" in said["allow_groups"]
    assert not Change.objects.exists()


def test_names_that_are_there_go_into_the_line(door: Door, hands, cluster: Cluster) -> None:
    wanted = PartitionSpec(
        "train", "ALL", allow_accounts=("llm",), allow_qos=("short",), allow_groups=("wheel",)
    )
    acts.add(door, wanted, base=1)
    assert wanted in proposed(cluster)
    assert acts.line_of(wanted).endswith("AllowGroups=wheel AllowAccounts=llm AllowQos=short")


def test_what_was_named_before_is_not_asked_about_again(door: Door, hands, cluster: Cluster) -> None:
    """An account that has gone since must not keep anybody from changing the nodes."""
    gone = replace(cluster.spec.partitions[0], allow_accounts=("gone",))
    revise(cluster, cluster.spec.with_partitions((gone,)))
    acts.edit(door, "debug", replace(gone, nodes="ALL"), base=cluster.revision.number)
    assert proposed(cluster) == (replace(gone, nodes="ALL"),)


@pytest.mark.parametrize("trouble", [{"silent": True}, {"kind": "accounting_storage/none"}])
def test_what_cannot_be_asked_keeps_nobody_from_naming_it(
    door: Door, hands, cluster: Cluster, trouble
) -> None:
    for name, value in trouble.items():
        setattr(hands, name, value)
    acts.add(door, PartitionSpec("train", "ALL", allow_accounts=("llm",), allow_groups=("wheel",)), base=1)
    assert proposed(cluster)[-1].allow_accounts == ("llm",)


@pytest.mark.parametrize(
    ("enforce", "says"),
    [
        ("limits,qos", ""),
        ("associations", ""),
        ("none", "Accounts are not enforced on this cluster"),
    ],
)
def test_the_form_lists_what_may_be_named_and_says_what_holds(
    client: Client, cluster: Cluster, hands, enforce, says
) -> None:
    hands.enforce = enforce
    shown = text_of(client.get(at(cluster, "partition-new")))
    assert ">allset, llm, root, vision</span>" in shown and ">normal, allset, short</span>" in shown
    assert says in shown and ("not enforced" in shown) == bool(says)


def revise(cluster: Cluster, spec: ClusterSpec) -> None:
    cluster.revision.spec = to_json(spec)
    cluster.revision.save()


# What there is


def test_platform_partitions_are_locked_each_for_its_reason(cluster: Cluster) -> None:
    locks = {row.spec.name: row.lock for row in acts.listed(cluster)}
    assert locks["debug"] == "" and "Every cluster has it" in locks["all"]
    assert "scale the group" in locks["slinky"] and "scale the group" in locks["cpu-workers"]


def test_a_regions_partition_is_the_platforms(cast: Cast) -> None:
    cluster = tiny_cluster(cast.team, spec=tiny_spec(region_partitions=(PartitionSpec("llm", "slinky"),)))
    row = acts.named(cluster, "llm")
    assert "The region gives it" in row.lock and row.coverage.names == ("slinky-0", "slinky-1")


def test_a_partition_comes_to_its_nodes_gpus_and_jobs(cluster: Cluster) -> None:
    make_job(cluster, 1, partition="debug", state="RUNNING", nodes="slinky-0")
    make_job(cluster, 2, partition="debug,all")
    row = acts.named(cluster, "debug")
    assert (row.coverage.names, row.coverage.gpus, row.running, row.waiting) == (("slinky-0",), 8, 1, 1)
    assert acts.named(cluster, "all").waiting == 1 and acts.named(cluster, "all").coverage.gpus == 16


@pytest.mark.parametrize("nodes", ["slinky-[0-", "ghost-1", "", "slinky-[0-99999999]"])
def test_nodes_that_are_not_there_come_to_nothing(cluster: Cluster, nodes: str) -> None:
    assert acts.covered(cluster.spec, nodes) == acts.Coverage()


def test_a_partition_made_by_hand_is_shown_as_such(cluster: Cluster, client: Client) -> None:
    Partition.objects.create(cluster=cluster, name="byhand", state="UP")
    page = text_of(client.get(at(cluster, "partitions")))
    assert "byhand" in page and "next change takes it away" in page


@pytest.mark.parametrize("who", ["cy", "mo", "ben"])
def test_who_may_not_change_sees_why_and_no_button(cluster: Cluster, cast: Cast, who: str) -> None:
    client = signed_in(getattr(cast, who))
    page = text_of(client.get(at(cluster, "partitions")))
    assert "Needs the role admin" in page and at(cluster, "partition-edit", "debug") not in page
    for name, args in (
        ("partition-new", ()),
        ("partition-edit", ("debug",)),
        ("partition-deletion", ("debug",)),
    ):
        assert client.get(at(cluster, name, *args)).status_code == 403
        assert client.post(at(cluster, name, *args), FILLED).status_code == 403
    assert client.post(at(cluster, "partition-preview"), FILLED).status_code == 403


def test_a_partitions_page_shows_nodes_jobs_and_its_line(cluster: Cluster, client: Client) -> None:
    a_node(cluster, "slinky-0", machine="e2e_node_682")
    make_job(cluster, 41, name="probe-41", partition="debug", why="Held by its owner.")
    page = text_of(client.get(at(cluster, "partition", "debug")))
    assert "e2e_node_682" in page and "(slinky-0)" in page and "probe-41" in page
    assert "PartitionName=debug Nodes=slinky-0 MaxTime=60 State=UP" in page
    assert client.get(at(cluster, "partition", "nosuch")).status_code == 404


# Times


@pytest.mark.parametrize(
    ("typed", "minutes"),
    [("90", 90), ("1:30:00", 90), ("1-00:00:00", 1440), ("2h", 120), ("2 hours", 120), ("1d 12h", 2160),
     ("1 week", 10_080), ("INFINITE", None), ("unlimited", None)],
)  # fmt: skip
def test_times_are_read_as_slurm_and_people_write_them(typed: str, minutes: int | None) -> None:
    assert typed_minutes(typed) == minutes


@pytest.mark.parametrize(
    "partition",
    [
        PartitionSpec("a", "ALL"),
        PartitionSpec("b", "slinky-0", True, 90, 30, "DRAIN", 7, "FORCE:4", "high", ("ml", "hpc"), ("acc",)),
        PartitionSpec("c", "slinky-[0-1]", oversubscribe="EXCLUSIVE", max_time_minutes=1440),
    ],
)
def test_the_form_gives_back_the_partition_that_filled_it(partition: PartitionSpec) -> None:
    form = PartitionForm({**initial_from(partition), "base": 1})
    assert form.is_valid(), form.errors
    assert form.partition == partition


# Adding


def test_add_asks_for_a_change_and_leads_to_it(cluster: Cluster, client: Client) -> None:
    answer = client.post(at(cluster, "partition-new"), FILLED)
    assert answer.status_code == 302 and answer.headers["Location"] == at(cluster, "change", 1)
    assert proposed(cluster)[-1] == PartitionSpec(
        "train", "slinky-[0-1]", max_time_minutes=1440, priority_tier=5
    )


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("nodes", "ghost-1", "does not have"),
        ("nodes", "slinky-[0-", "cannot be read"),
        ("nodes", "slinky-0\nPartitionName=evil Nodes=ALL", "cannot be read"),
        ("max_time_minutes", "banana", "is not a time"),
        ("default_time_minutes", "2-00:00:00", "longer than MaxTime"),
        ("name", "default", "reserved"),
        ("name", "DEBUG", "taken"),
        ("name", "two words", "not a name"),
        ("name", "slinky", "reserved"),
        ("qos", "a b", "QOS"),
        ("allow_groups", "ml,#x", "AllowGroups"),
        ("state", "FOO", "Select a valid choice"),
        ("priority_tier", "70000", "65533"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_asked(
    cluster: Cluster, client: Client, field: str, typed: str, said: str
) -> None:
    answer = client.post(at(cluster, "partition-new"), {**FILLED, field: typed})
    assert answer.status_code == 422 and not cluster.changes.exists()
    about = answer.content.decode().split(f'data-field="{field}"')[1].split("</p>")[0]
    assert said in about and "problem" in about


def test_the_twenty_first_is_refused_before_its_form(cluster: Cluster, door: Door, client: Client) -> None:
    many = tuple(PartitionSpec(f"p{n}", "slinky-0") for n in range(MAX_OWN_PARTITIONS))
    revision = cluster.revisions.get()
    revision.spec = {**revision.spec, "partitions": [vars(one) for one in many]}
    revision.save()
    assert client.get(at(cluster, "partition-new")).status_code == 409
    with pytest.raises(Rejected):
        acts.add(door, PartitionSpec("p20", "slinky-0"), base=1)
    assert "are the most" in text_of(client.get(at(cluster, "partitions")))


def test_a_new_default_takes_it_from_the_others(cluster: Cluster, client: Client) -> None:
    client.post(
        at(cluster, "partition-edit", "debug"), {**FILLED, "name": "debug", "was": "debug", "default": "on"}
    )
    (debug,) = proposed(cluster)
    assert debug.default
    assert (
        not acts.put(cluster.spec.with_partitions((debug,)), PartitionSpec("x", "ALL", default=True))
        .partitions[0]
        .default
    )


# As one types


def test_the_preview_says_which_nodes_what_they_come_to_and_the_line(
    cluster: Cluster, client: Client
) -> None:
    a_node(cluster, "slinky-0", machine="e2e_node_682")
    page = text_of(client.post(at(cluster, "partition-preview"), FILLED))
    assert "<b>2</b> nodes" in page and "<b>16</b> GPUs" in page and "<b>128</b> CPUs" in page
    assert 'data-pick="slinky-0" aria-pressed="true"' in page and "e2e_node_682" in page
    assert 'data-pick="cpu-workers-0" aria-pressed="false"' in page
    assert "PartitionName=train Nodes=slinky-[0-1] MaxTime=1440 State=UP PriorityTier=5" in page


def test_the_preview_puts_problems_at_their_fields(cluster: Cluster, client: Client) -> None:
    page = text_of(
        client.post(at(cluster, "partition-preview"), {**FILLED, "nodes": "ghost-1", "qos": "a b"})
    )
    for field, said in (("nodes", "does not have"), ("qos", "QOS")):
        about = page.split(f'id="id_{field}-about" hx-swap-oob="innerHTML"')[1].split("</div>")[0]
        assert said in about
    assert "PartitionName=" not in page


def test_the_preview_of_an_edit_leaves_out_the_name_that_its_form_does_not_show(
    cluster: Cluster, client: Client
) -> None:
    page = text_of(client.post(at(cluster, "partition-preview"), {**FILLED, "was": "train"}))
    assert 'id="id_name-about"' not in page and 'id="id_nodes-about"' in page


def test_the_preview_does_not_scold_for_what_is_not_typed_yet(cluster: Cluster, client: Client) -> None:
    page = text_of(client.post(at(cluster, "partition-preview"), {**FILLED, "name": "", "nodes": ""}))
    assert 'class="problem"' not in page and "<b>0</b> nodes" in page


def test_nothing_typed_reaches_the_preview_unescaped(cluster: Cluster, client: Client) -> None:
    page = text_of(
        client.post(at(cluster, "partition-preview"), {**FILLED, "name": "<b>x", "nodes": "<script>"})
    )
    assert "<script>" not in page and "<b>x" not in page


# Changing and deleting


def test_edit_keeps_the_name_and_the_place(cluster: Cluster, client: Client, door: Door) -> None:
    client.post(at(cluster, "partition-edit", "debug"), {**FILLED, "name": "debug", "was": "debug"})
    assert [one.name for one in proposed(cluster)] == ["debug"] and proposed(cluster)[0].priority_tier == 5
    with pytest.raises(Rejected):
        acts.edit(door, "debug", PartitionSpec("other", "slinky-0"), base=1)


@pytest.mark.parametrize("name", ["all", "slinky", "cpu-workers"])
def test_the_platforms_partitions_cannot_be_changed(
    cluster: Cluster, door: Door, client: Client, name: str
) -> None:
    with pytest.raises(Conflict):
        acts.edit(door, name, PartitionSpec(name, "slinky-0"), base=1)
    with pytest.raises(Conflict):
        acts.delete(door, name, base=1)
    assert client.get(at(cluster, "partition-edit", name)).status_code == 409


def test_delete_names_the_jobs_that_leave_the_queue_and_those_that_end(
    cluster: Cluster, client: Client
) -> None:
    make_job(cluster, 11, name="runs-here", partition="debug", state="RUNNING", nodes="slinky-0")
    make_job(cluster, 12, name="falls-out", partition="debug")
    make_job(cluster, 13, name="elsewhere", partition="debug,all")
    page = text_of(client.get(at(cluster, "partition-deletion", "debug")))
    ends, leaves = page.split("Ends")[1].split("Leave the queue")
    assert "falls-out" in leaves and "elsewhere" in leaves and "runs-here" in ends
    assert "as NODE_FAIL" in ends and "ending 1 job" in page
    assert "dropping 2 waiting jobs" in page


def test_a_partition_may_come_later(cluster: Cluster, client: Client) -> None:
    new, tomorrow = at(cluster, "partition-new"), timezone.now() + timedelta(days=1)
    answer = client.post(new, {**FILLED, "start_at": "soon"})
    assert answer.status_code == 422 and "This is no time." in text_of(answer)
    answer = client.post(new, {**FILLED, "start_at": f"{tomorrow:%Y-%m-%dT%H:%M}"})
    assert answer.status_code == 302
    assert cluster.changes.get().status == "scheduled"


def test_delete_asks_for_a_change(cluster: Cluster, client: Client) -> None:
    assert client.post(at(cluster, "partition-deletion", "debug"), {"base": "1"}).status_code == 302
    assert proposed(cluster) == ()


def test_a_stale_dialog_shows_both_sides_and_keeps_what_was_typed(
    cluster: Cluster, client: Client, door: Door
) -> None:
    change = acts.add(door, PartitionSpec("first", "slinky-0"), base=1)
    change.status, cluster.revision = "committed", change.revision
    change.save()
    cluster.save()
    answer = client.post(at(cluster, "partition-new"), FILLED)
    page = text_of(answer)
    assert answer.status_code == 409 and "partitions[first]" in page and "partitions[train]" in page
    assert 'value="slinky-[0-1]"' in page


def test_a_cluster_that_is_not_running_opens_no_dialog(cluster: Cluster, client: Client) -> None:
    cluster.enter(Status.TERMINATED)
    for name, args in (("partition-new", ()), ("partition-deletion", ("debug",))):
        assert client.get(at(cluster, name, *args)).status_code == 409
