"""What a shadow controller reads, and what is made of what it says."""

import pytest

from console.errors import Unavailable
from slurm.provisioners.slinky import conf
from slurm.provisioners.slinky.shadow import candidate_of, problems_of, shadow_pod, whole
from tests.slurm.slinky.designs import DEMO, design_of
from tests.slurm.slinky.things import NAMES, thing

CANDIDATE = candidate_of(DEMO)


def lines_of(text):
    return text.splitlines()


def test_the_candidate_is_the_configuration_behind_a_head_of_its_own():
    ahead, rest = lines_of(CANDIDATE.text)[: CANDIDATE.ahead], lines_of(CANDIDATE.text)[CANDIDATE.ahead :]
    real = lines_of(conf.rendered(DEMO).text)
    changed = [(one, other) for one, other in zip(real, rest, strict=True) if one != other]
    assert changed == [("AccountingStorageTRES=gres/gpu", "# AccountingStorageTRES=gres/gpu")]
    assert "NodeSet=slinky Feature=slinky" in ahead
    nodes = [line.split()[0] for line in ahead if line.startswith("NodeName=")]
    assert nodes == [f"NodeName={name}" for name in DEMO.node_names]


def test_a_shadow_that_became_ready_finds_nothing():
    output = "ready\ncode 0\n[t] slurmctld version 26.05.5 started\n[t] Running as primary controller\n"
    assert problems_of(output, CANDIDATE) == ()


def test_a_refusal_is_placed_at_the_users_line():
    spec = DEMO.with_slurm_conf("# one\nSchedulerType=sched/nonsense\n")
    output = (
        "code 1\n[t] slurmctld: error: cannot create sched context for sched/nonsense\n"
        "[t] slurmctld: fatal: Failed to initialize the various schedulers\n"
    )
    (problem,) = problems_of(output, candidate_of(spec))
    assert (problem.path, problem.line, problem.blocking) == ("slurm_conf", 2, True)
    assert "sched/nonsense" in problem.message


def test_what_only_accounting_could_tell_does_not_block():
    output = "code 1\n[t] slurmctld: fatal: Partition train has an invalid qos (long), check it\n"
    (problem,) = problems_of(output, CANDIDATE)
    assert not problem.blocking and "long" in problem.message


def test_a_shadow_that_names_what_is_fatal_and_hangs_is_believed():
    (problem,) = problems_of("code 124\n[t] slurmctld: fatal: Invalid SelectType select/nope\n", CANDIDATE)
    assert problem.blocking


@pytest.mark.parametrize(
    "output", ["", "ready\n", "code 124\n[t] slurmctld version 26.05.5 started\n", "code 137\n"]
)
def test_a_check_that_was_cut_short_or_was_too_slow_tells_nothing(output):
    with pytest.raises(Unavailable):
        whole(output)


def test_what_kept_a_check_from_its_end_is_said():
    with pytest.raises(Unavailable, match="to its end: mktemp: no space left"):
        whole("", "sh: noise\nmktemp: no space left on device\n")


def test_a_shadow_that_complained_until_its_time_was_over_is_heard():
    output = whole("code 124\n[t] slurmctld: error: cannot create sched context for sched/nonsense\n")
    (problem,) = problems_of(output, CANDIDATE)
    assert problem.blocking and "sched/nonsense" in problem.message


def test_the_pod_has_no_key_no_volume_no_token_and_an_end():
    owner = thing("Controller", NAMES.base, apiVersion="slinky.slurm.net/v1beta1")
    owner["metadata"]["uid"] = "u1"
    made = shadow_pod(NAMES, "demo-shadow-1", design_of().image("slurmctld"), owner, "m1")
    spec = made["spec"]
    assert (spec["restartPolicy"], spec["activeDeadlineSeconds"], spec["nodeName"]) == ("Never", 60, "m1")
    assert "volumes" not in spec and spec["automountServiceAccountToken"] is False
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u1"
    assert "app.kubernetes.io/component" not in made["metadata"]["labels"]
