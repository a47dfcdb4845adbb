"""A live cluster goes from Slurm 24.11 to 26.05 under its jobs, and back where a daemon does not start.

One cluster for the file: what fails comes first and leaves it as it was.
"""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.conf import settings as django_settings

from clusters.acts import Does, Edit, PartKind
from clusters.observation import Verdict
from clusters.provisioner import ClusterRef
from clusters.spec import CPU_GROUP, ClusterSpec, NodeGroup, PartitionSpec, Shape
from console.errors import Rejected
from slurm.provisioners.sandbox import upgrade
from slurm.provisioners.sandbox.adapter import Sandbox
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.space import keeping, run_inside, stop_keeper, wait_until

pytestmark = pytest.mark.timeout(300)
# A partition's QOS that does not exist: 24.11 starts with it, to 26.05 it is fatal.
DEADLY = PartitionSpec("night", "slinky-0", qos="nosuch")
OLD = ClusterSpec(
    name="risen",
    image="slurm-24-11",
    slurm_version="24.11",
    groups=(
        NodeGroup("slinky", Shape("gpu-2x", 4, 4000, 2, "h100"), (0, 1)),
        NodeGroup(CPU_GROUP, Shape("cpu-4", 4, 4000), (0,)),
    ),
    slurm_conf="MinJobAge=300\n",
)
NEW = replace(OLD, image="slurm-26-05", slurm_version="26.05")
LIMIT_S = 90


@pytest.fixture(scope="module")
def living(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    before = django_settings.VAR_DIR
    django_settings.VAR_DIR = tmp_path_factory.mktemp("var")
    sandbox = Sandbox(ClusterRef(key="crisen0000001", name="risen", team="research"))
    try:
        bring(sandbox, OLD)
        yield sandbox
    finally:
        sandbox.destroy(lambda text: None)
        django_settings.VAR_DIR = before


@pytest.fixture(scope="module")
def jobs(living: Sandbox) -> dict[str, str]:
    """One that has ended, one that runs through everything, one that waits."""
    done = ask(living, "srun", "-w", "slinky-0", "-n1", "-J", "early", "sh", "-c", "echo $SLURM_JOB_ID")
    runs = submit(living, "-w", "slinky-1", "--gres=gpu:1", script="sleep 3000")
    waits = submit(living, "--begin=now+1hour")
    assert wait_until(lambda: state_of(living, runs) == "RUNNING", LIMIT_S), state_of(living, runs)
    assert wait_until(lambda: "COMPLETED" in history(living, done), LIMIT_S), history(living, done)
    return {"done": done, "runs": runs, "waits": waits}


def bring(sandbox: Sandbox, spec: ClusterSpec) -> list[str]:
    said: list[str] = []
    sandbox.apply(spec, said.append)
    assert wait_until(lambda: sandbox.judge(spec).verdict is Verdict.DONE, LIMIT_S), sandbox.judge(spec).why
    return said


def ask(sandbox: Sandbox, *argv: str) -> str:
    done = run_inside(sandbox.home, list(argv), 30)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def submit(sandbox: Sandbox, *options: str, script: str = "true") -> str:
    return ask(
        sandbox, "sbatch", "--parsable", "-t", "60", "-n1", "-o", "/dev/null", *options, "--wrap", script
    )


def state_of(sandbox: Sandbox, job: str) -> str:
    return run_inside(sandbox.home, ["squeue", "-h", "-t", "all", "-o", "%T", "-j", job], 15).stdout.strip()


def history(sandbox: Sandbox, job: str) -> str:
    return run_inside(sandbox.home, ["sacct", "-nPX", "-j", job, "-o", "JobName,State"], 15).stdout.strip()


def versions(sandbox: Sandbox) -> dict[str, str]:
    """What each part says of itself, the commands among them: `24.11` or `26.05`."""
    found = {node.name: node.version for node in sandbox.observe().nodes or ()}
    found["controller"] = sandbox._slurm().config()["SLURM_VERSION"]
    found["commands"] = ask(sandbox, "sinfo", "--version").rpartition(" ")[2]
    state = keeping(sandbox.home)
    for name in ("slurmdbd", "sshd"):
        daemon = state.daemon(name) if state else None
        assert daemon and daemon.pid and daemon.state == "up"
        inside = ["nsenter", f"--target={daemon.pid}", "--mount", "sinfo", "--version"]
        found[name] = ask(sandbox, *inside).rpartition(" ")[2]
    return {name: version[:5] for name, version in found.items()}


def others_than(sandbox: Sandbox, release: str) -> dict[str, str]:
    return {name: version for name, version in versions(sandbox).items() if version != release}


def test_its_impact_is_an_upgrade_in_slurms_order_that_ends_and_loses_nothing(living: Sandbox) -> None:
    touches = living.foresee(Edit(OLD, NEW))
    assert [(touch.part, touch.does) for touch in touches] == [(part, Does.UPGRADES) for part in PartKind]
    assert [part.value for part in PartKind] == ["accounting", "controller", "workers", "login"]
    assert {name for touch in touches for name in touch.nodes} == set(OLD.node_names)
    assert not any(touch.loses for touch in touches)


def test_a_setting_that_the_new_release_does_not_know_is_found_before(living: Sandbox) -> None:
    problems = living.check(NEW.with_slurm_conf("MinJobAge=300\nGetEnvTimeout=3\n"))
    assert [(p.path, p.line) for p in problems if p.blocking] == [("slurm_conf", 2)]
    assert [p for p in living.check(NEW) if p.blocking] == []


def test_a_controller_that_does_not_start_leads_back_to_what_was(
    living: Sandbox, jobs: dict[str, str]
) -> None:
    """Nobody checks here. Accounting is upgraded by then, and its database converted."""
    before, after = OLD.with_partitions((DEADLY,)), NEW.with_partitions((DEADLY,))
    bring(living, before)
    with pytest.raises(Rejected, match="slurmctld does not start with Slurm 26.05") as refused:
        living.apply(after, lambda text: None)
    assert "night has an invalid qos" in str(refused.value.problems)
    said = bring(living, before)
    assert "Put back the accounting database and the queue as of before the upgrade." in said
    assert others_than(living, "24.11") == {}
    as_before(living, jobs)
    bring(living, OLD)


@pytest.mark.parametrize(
    "fatal", [pytest.param(2, id="half-way", marks=pytest.mark.long), pytest.param(4, id="after all")]
)
def test_after_a_kill_all_goes_back(
    living: Sandbox, jobs: dict[str, str], monkeypatch: pytest.MonkeyPatch, fatal: int
) -> None:
    """In the middle of the order, and where everything has come up already."""
    steps, true_run = [0], upgrade._run

    def dying(*args: object) -> None:
        true_run(*args)  # type: ignore[arg-type]
        steps[0] += 1
        if steps[0] == fatal:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "_run", dying)
        with pytest.raises(KeyboardInterrupt):
            living.apply(NEW, lambda text: None)
    bring(living, OLD)
    assert others_than(living, "24.11") == {}
    as_before(living, jobs)


def as_before(sandbox: Sandbox, jobs: dict[str, str]) -> None:
    assert state_of(sandbox, jobs["runs"]) == "RUNNING"
    assert state_of(sandbox, jobs["waits"]) == "PENDING"
    assert history(sandbox, jobs["done"]) == "early|COMPLETED"


def test_a_cluster_is_upgraded_under_its_jobs_and_keeps_its_history(
    living: Sandbox, jobs: dict[str, str]
) -> None:
    began = ask(living, "squeue", "-h", "-o", "%S", "-j", jobs["runs"])
    said = bring(living, NEW)
    assert [line.split(" Slurm ")[0] for line in said if "Slurm 26.05" in line] == [
        "Accounting runs",
        "The controller runs",
        "The workers run",
        "The login node runs",
    ]
    assert others_than(living, "26.05") == {}
    as_before(living, jobs)
    assert ask(living, "squeue", "-h", "-o", "%S", "-j", jobs["runs"]) == began
    assert ask(living, "srun", "-w", "slinky-0", "-n1", "--gres=gpu:1", "echo", "ran") == "ran"
    living.apply(NEW, said.append)
    assert others_than(living, "26.05") == {}
    ask(living, "scancel", jobs["runs"])
    assert wait_until(lambda: "CANCELLED" in history(living, jobs["runs"]), LIMIT_S)
    assert wait_until(lambda: not state_of(living, jobs["runs"]).strip("CANELD"), LIMIT_S)


def test_the_way_back_closes_with_the_next_change(living: Sandbox) -> None:
    """And what is changed after an upgrade is changed in the new release."""
    copies = living.home / upgrade.SAVED
    assert sorted(path.name for path in copies.iterdir()) == ["db", "state"]
    bring(living, NEW.with_slurm_conf("MinJobAge=200\n"))
    assert not copies.exists()
    with pytest.raises(Rejected, match="cannot go back to Slurm 24.11"):
        living.apply(OLD, lambda text: None)
    assert others_than(living, "26.05") == {}


def test_a_whole_start_makes_the_room_of_the_new_image(living: Sandbox, jobs: dict[str, str]) -> None:
    stop_keeper(living.home)
    assert living.revive()
    spec = NEW.with_slurm_conf("MinJobAge=200\n")
    assert wait_until(lambda: living.judge(spec).verdict is Verdict.DONE, LIMIT_S), living.judge(spec).why
    assert others_than(living, "26.05") == {}
    assert set(json.loads((living.home / "images.json").read_text()).values()) == {"26.05"}
    assert "trees/26.05" in json.loads((living.home / "keeper/room.json").read_text())["tree"]
    assert state_of(living, jobs["waits"]) == "PENDING"
