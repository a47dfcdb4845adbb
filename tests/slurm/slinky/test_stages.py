"""The stages of a change: what is written when, until the cluster has the very nodes that its spec names."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.spec import ClusterSpec
from slurm.drains import LEAVES
from slurm.provisioners.slinky.stages import GOES_FIRST, Stage, Standing, coming, stage_of
from tests.slurm.slinky.standings import node, spec_with, standing, worker

ORDINALS = st.frozensets(st.integers(0, 6), max_size=6)
SCALE_IN = "slurm-operator: Pod (demo/demo-gpu-3) is pending termination for scale-in"


def operate(stage: Stage, now: Standing) -> Standing:
    """One round of operator and Slurm: marks are kept, the cheapest workers go, free ordinals are filled, new nodes
    register, and the controller reads its file (slurm-operator 1.2, NodeSet controller)."""
    workers = []
    for one in now.workers["slinky"]:
        cost = stage.costs.get(one.pod, one.cost)
        workers.append(replace(one, cost=cost))
    size = stage.replicas["slinky"]
    workers.sort(key=lambda one: (one.cost, -one.ordinal))
    workers = workers[max(0, len(workers) - size) :]
    there = {one.ordinal for one in workers}
    free = (n for n in range(100) if n not in there)
    workers += [worker("slinky", next(free)) for _ in range(size - len(workers))]
    kept = [one for one in now.nodes or () if one.name not in stage.forgotten]
    names = {one.name for one in kept}
    new = [node(one.slurm) for one in workers if one.slurm not in names]
    return Standing(
        workers={"slinky": tuple(workers)},
        replicas={"slinky": size},
        nodes=(*kept, *new),
        named=stage.known,
    )


@settings(deadline=None)
@given(ORDINALS, ORDINALS)
def test_any_set_of_ordinals_is_reached_from_any_other(have, wanted):
    spec, now = spec_with(slinky=wanted), standing(slinky=have, named=[f"slinky-{n}" for n in have])
    for _ in range(12):
        stage = stage_of(spec, now)
        assert not (set(stage.forgotten) & (now.named or set())), "a record that a partition names"
        now = operate(stage, now)
    assert {one.ordinal for one in now.workers["slinky"]} == wanted
    assert {one.name for one in now.nodes or ()} == {f"slinky-{n}" for n in wanted}
    assert stage_of(spec, now).known == set(spec.node_names)
    assert not stage_of(spec, now).costs


@settings(deadline=None)
@given(ORDINALS, ORDINALS)
def test_nodes_that_stay_are_never_among_those_that_go(have, wanted):
    spec, now = spec_with(slinky=wanted), standing(slinky=have, named=[f"slinky-{n}" for n in have])
    stay = {f"slinky-{n}" for n in have & wanted}
    for _ in range(12):
        stage = stage_of(spec, now)
        assert not stay & set(stage.going)
        now = operate(stage, now)
        assert stay <= {one.slurm for one in now.workers["slinky"]}


def test_a_new_cluster_names_no_node_before_it_is_known():
    spec = spec_with(slinky=(0, 1))
    stage = stage_of(spec, Standing())
    assert (stage.known, stage.replicas) == (frozenset(), {"slinky": 2})
    assert coming(spec, Standing()) == ("slinky-0", "slinky-1")


def test_a_node_leaves_the_partitions_before_its_worker_goes():
    spec = spec_with(slinky=(0, 2))
    before = standing(slinky=(0, 1, 2), named=("slinky-0", "slinky-1"))
    stage = stage_of(spec, before)
    assert (stage.replicas["slinky"], stage.going, stage.costs) == (3, ("slinky-1",), {})
    assert stage.known == {"slinky-0", "slinky-2"}


def test_nodes_that_go_take_no_new_jobs_and_keep_a_reason_they_have():
    drained = [node("slinky-2", "IDLE+DRAIN", "xid 79 (by ada)")]
    before = standing(slinky=(0, 1, 2), extra=drained)
    assert stage_of(spec_with(slinky=(0,)), before).closing == ("slinky-1",)


def test_a_worker_is_marked_before_the_set_shrinks():
    spec = spec_with(slinky=(0, 2))
    unnamed = standing(slinky=(0, 1, 2), named=("slinky-0",))
    stage = stage_of(spec, unnamed)
    assert (stage.replicas["slinky"], stage.costs) == (3, {"demo-c1-slinky-1": GOES_FIRST})
    marked = replace(
        unnamed,
        workers={
            "slinky": tuple(replace(w, cost=GOES_FIRST * (w.ordinal == 1)) for w in unnamed.workers["slinky"])
        },
    )
    assert stage_of(spec, marked).replicas["slinky"] == 2


def test_nothing_shrinks_while_nobody_knows_what_the_controller_runs_with():
    stage = stage_of(spec_with(slinky=(0,)), standing(slinky=(0, 1), named=None))
    assert (stage.replicas["slinky"], stage.costs, stage.forgotten) == (2, {}, ())


def test_a_record_is_forgotten_once_its_pod_is_gone_and_no_partition_names_it():
    spec = spec_with(slinky=(0,))
    gone = standing(slinky=(0,), extra=[node("slinky-1", "DOWN")])
    assert stage_of(spec, gone).forgotten == ("slinky-1",)
    assert stage_of(spec, replace(gone, named=frozenset({"slinky-1"}))).forgotten == ()
    leaving = replace(gone, workers={"slinky": (*gone.workers["slinky"], worker("slinky", 1, leaving=True))})
    assert stage_of(spec, leaving).forgotten == ()


def test_records_that_are_no_worker_of_ours_are_left_alone():
    gone = standing(slinky=(0,), extra=[node("gateway", "DOWN"), node("visitors-3", "DOWN")])
    assert stage_of(spec_with(slinky=(0,)), gone).forgotten == ()


def test_going_back_frees_the_nodes_that_were_to_go():
    spec = spec_with(slinky=(0, 1))
    drained = [node("slinky-1", "MIXED+DRAIN", SCALE_IN, busy=4)]
    half = standing(slinky=(0, 1), replicas={"slinky": 1}, extra=drained)
    stage = stage_of(spec, half)
    assert (stage.replicas["slinky"], stage.freed, stage.going) == (2, ("slinky-1",), ())


def test_a_node_that_the_operator_still_wants_away_is_not_freed():
    cordoned = standing(slinky=(0, 1), extra=[node("slinky-1", "MIXED+DRAIN", SCALE_IN)])
    workers = tuple(replace(one, cordoned=one.ordinal == 1) for one in cordoned.workers["slinky"])
    assert stage_of(spec_with(slinky=(0, 1)), replace(cordoned, workers={"slinky": workers})).freed == ()


def test_a_persons_drain_is_left_and_ours_is_not():
    drains = [node("slinky-0", "IDLE+DRAIN", "xid 79 (by ada)"), node("slinky-1", "IDLE+DRAIN", LEAVES)]
    assert stage_of(spec_with(slinky=(0, 1)), standing(slinky=(0, 1), extra=drains)).freed == ("slinky-1",)


def test_a_group_that_the_spec_no_longer_has_goes_whole():
    spec = spec_with(slinky=(0,))
    full = standing(slinky=(0,), **{"cpu-workers": (0, 1)}, named=())
    assert stage_of(spec, full).going == ("cpu-workers-0", "cpu-workers-1")
    assert stage_of(spec, full).lingering == {"cpu-workers"}
    workers = {
        **full.workers,
        "cpu-workers": tuple(replace(w, cost=GOES_FIRST) for w in full.workers["cpu-workers"]),
    }
    assert stage_of(spec, replace(full, workers=workers)).shrunk == {"cpu-workers": 0}
    empty = replace(
        full, workers={"slinky": full.workers["slinky"]}, replicas={"slinky": 1, "cpu-workers": 0}
    )
    assert stage_of(spec, empty).unneeded == ("cpu-workers",)
    assert not stage_of(spec, empty).lingering
    assert stage_of(spec, replace(empty, remembered=frozenset({"cpu-workers"}))).unneeded == ()


def test_while_no_controller_answers_no_node_is_named_anew():
    workers = (worker("slinky", 0), worker("slinky", 1, knows_slurm=False), worker("slinky", 2))
    written = frozenset({"slinky-0", "slinky-1"})
    silent = Standing(workers={"slinky": workers}, replicas={"slinky": 3}, written=written)
    spec: ClusterSpec = spec_with(slinky=(0, 1, 2))
    assert stage_of(spec, silent).known == {"slinky-0"}
    assert stage_of(spec, replace(silent, is_blank=True)).known == frozenset()
