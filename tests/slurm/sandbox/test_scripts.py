"""Life scripts on a live cluster: each runs where and when it should, and what a failing one does."""

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from clusters.life_scripts import Hook, file_of, version_of
from clusters.spec import LifeScripts
from slurm.client import Slurm
from slurm.executors.local import LocalExecutor
from slurm.provisioners.sandbox.__main__ import sample_files
from slurm.provisioners.sandbox.apply import apply_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.daemon import KEPT_CAPABILITIES
from slurm.provisioners.sandbox.daemons import specs_of
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.shadow import shadow_check
from slurm.provisioners.sandbox.sight import parts_of, with_job_scripts, without_init
from slurm.provisioners.sandbox.space import command_prefix, keeping, wait_until
from slurm.provisioners.sandbox.worker import worker_executor
from slurm.readback import unlike_scripts
from slurm.resuming import resume_drained
from slurm.scripts.failures import failed_hook
from slurm.scripts.trial import RUN
from tests.slurm.sandbox.conftest import node_states, slurm, submit

MARKS = LifeScripts(
    worker_init='#!/bin/bash\nset -eu\necho "$(hostname) $(id -u)" > /tmp/init-ran\n',
    login_init="#!/bin/bash\necho login > /tmp/login-init-ran\n",
    worker_prolog='#!/bin/bash\necho "$SLURM_JOB_ID" > /tmp/prolog-ran\n',
    worker_epilog='#!/bin/bash\necho "$SLURM_JOB_ID" > /tmp/epilog-ran\n',
    controller_prolog='#!/bin/bash\necho "$SLURM_JOB_ID" > /var/spool/slurmctld/prolog-ran\n',
)
FAILS = "#!/bin/bash\nexit 1\n"


def made(cluster: SandboxCluster, scripts: LifeScripts) -> SandboxCluster:
    """Apply, and wait until every daemon has started with them."""
    changed = replace(cluster, scripts=scripts)
    apply_files(changed, sample_files(changed), lambda sentence: None)
    changed = replace(changed, epochs=epochs_of(cluster.home))
    assert wait_until(lambda: not without_init(specs_of(changed), keeping(cluster.home)), 30)
    assert wait_until(lambda: (state := keeping(cluster.home)) is not None and state.is_settled, 30)
    return changed


@pytest.fixture(scope="module")
def marked(cluster: SandboxCluster) -> Iterator[SandboxCluster]:
    yield made(cluster, MARKS)
    for _ in range(2):  # what was in force just now stays for a daemon that still reads it
        made(cluster, LifeScripts())
    assert not list(cluster.home.glob("conf/*/prolog-*.sh")), "what is no longer named is gone"


def client(cluster: SandboxCluster) -> Slurm:
    return Slurm(LocalExecutor(command_prefix(cluster.home)))


def on(cluster: SandboxCluster, node: str, script: str) -> str:
    return slurm(cluster, "srun", "-Q", "-t1", "-w", node, "sh", "-c", script, limit_s=60)


def test_init_has_run_on_every_worker_and_says_which(marked: SandboxCluster, running_job: str) -> None:
    state = keeping(marked.home)
    versions = {part.name: part.init for part in parts_of([s.name for s in specs_of(marked)], state)}
    wanted = file_of(MARKS, Hook.WORKER_INIT)
    assert all(versions[node.name] in wanted and versions[node.name] for node in marked.nodes)
    assert on(marked, "slinky-1", "cat /tmp/init-ran").split()[0] == "slinky-1"


def test_every_worker_says_which_prolog_and_epilog_its_copy_has(marked: SandboxCluster) -> None:
    found = with_job_scripts(parts_of([s.name for s in specs_of(marked)], keeping(marked.home)), marked.home)
    wanted = (version_of(MARKS.worker_prolog), version_of(MARKS.worker_epilog))
    assert {(part.prolog, part.epilog) for part in found if part.kind == "worker"} == {wanted}
    assert {(part.prolog, part.epilog) for part in found if part.kind != "worker"} == {(None, None)}
    gone = marked.home / "conf/workers" / file_of(MARKS, Hook.WORKER_PROLOG)
    kept = gone.rename(gone.with_suffix(".away"))
    try:
        assert {part.prolog for part in with_job_scripts(found, marked.home) if part.kind == "worker"} == {""}
    finally:
        kept.rename(gone)


def test_prolog_and_epilog_run_on_the_node_of_the_job(marked: SandboxCluster) -> None:
    job = on(marked, "slinky-1", "echo $SLURM_JOB_ID; test $(cat /tmp/prolog-ran) = $SLURM_JOB_ID")
    assert job.isdigit()
    ran = marked.home / "machines/slinky-1/tmp/epilog-ran"
    assert wait_until(lambda: ran.exists() and ran.read_text().strip() == job, 15)
    assert (marked.home / "state/prolog-ran").read_text().strip() == job


def test_the_controller_says_that_it_runs_with_them(marked: SandboxCluster) -> None:
    running = client(marked).config()
    assert unlike_scripts(MARKS, running) == ()
    others = replace(MARKS, worker_prolog=FAILS, controller_epilog=FAILS)
    assert [one.split(" should")[0] for one in unlike_scripts(others, running)] == [
        "Worker prolog",
        "Controller epilog",
    ]


def test_a_shadow_reads_them_before_they_are_applied(marked: SandboxCluster) -> None:
    assert not [problem for problem in shadow_check(marked, sample_files(marked)) if problem.blocking]


def test_another_prolog_takes_its_place_and_the_job_goes_on(marked: SandboxCluster, running_job: str) -> None:
    other = made(marked, replace(MARKS, worker_prolog="#!/bin/bash\necho other > /tmp/prolog-ran\n"))
    assert wait_until(lambda: on(other, "slinky-2", "cat /tmp/prolog-ran") == "other", 15)
    made(marked, MARKS)


def test_a_failing_init_keeps_its_worker_down_and_says_why(marked: SandboxCluster, running_job: str) -> None:
    bad = replace(marked, scripts=replace(MARKS, worker_init="#!/bin/bash\necho no disk >&2\nexit 3\n"))
    apply_files(bad, sample_files(bad), lambda sentence: None)

    def said() -> str:
        state = keeping(marked.home)
        daemon = state.daemon("slurmd-slinky-1") if state else None
        return " ".join(daemon.last_lines) if daemon and daemon.state == "backing off" else ""

    assert wait_until(lambda: "no disk" in said() and "(ended with status 3)" in said(), 20), said()
    made(marked, MARKS)
    assert wait_until(lambda: set(node_states(marked).values()) <= {"idle", "mixed"}, 30), node_states(marked)


def test_a_failing_prolog_drains_the_node_and_the_reason_tells_of_it(marked: SandboxCluster) -> None:
    bad = made(marked, replace(MARKS, worker_prolog=FAILS))
    job = submit(bad, "-w", "slinky-2", script="true")

    def reason() -> tuple[str, str]:
        node = next(node for node in client(bad).nodes() if node.name == "slinky-2")
        return node.reason, node.reason_by

    assert wait_until(lambda: failed_hook(*reason()) is Hook.WORKER_PROLOG, 20), reason()
    slurm(bad, "scancel", job)
    good = made(marked, MARKS)
    resume_drained(client(good), ["slinky-2", "slinky-1"])
    assert wait_until(lambda: node_states(good)["slinky-2"] == "idle", 20), node_states(good)
    assert on(good, "slinky-2", "cat /tmp/prolog-ran").isdigit()


def test_a_script_is_tried_on_a_node_as_slurmd_would_run_it(marked: SandboxCluster) -> None:
    says = 'echo "$(hostname) $SLURM_JOB_ID $(id -u) ${HOME:-none}"; touch /tmp/tried; echo bad >&2'
    script = f"#!/bin/bash\n{says}\nexit 7\n"
    argv = ["/bin/sh", "-c", RUN, "sh", "9000", "20", "SLURM_JOB_ID=0"]
    done = worker_executor(marked.home, "slinky-1").run(argv, timeout_s=30, stdin=script.encode())
    uid = "0" if marked.login_user == "root" else str(os.getuid())
    assert (done.stdout.decode(), done.stderr) == (f"slinky-1 0 {uid} none\nbad\n", "7\n")
    tmp = marked.home / "machines/slinky-1/tmp"
    assert (tmp / "tried").exists() and not list(tmp.glob(".quarterdeck-*"))


@pytest.mark.skipif(
    os.getuid() != 0, reason="an ordinary user's clusters have no root of this machine in them"
)
def test_what_is_tried_may_no_more_than_slurmd(marked: SandboxCluster) -> None:
    show = "#!/bin/bash\nwhile read -r key value; do [ $key = CapBnd: ] && echo $value; done < /proc/self/status\n"
    argv = ["/bin/sh", "-c", RUN, "sh", "9000", "20"]
    done = worker_executor(marked.home, "slinky-1").run(argv, timeout_s=30, stdin=show.encode())
    bounds = int(done.stdout, 16)
    assert bounds and not bounds & ~sum(1 << number for number in KEPT_CAPABILITIES), done


def test_a_trial_that_does_not_end_is_ended(marked: SandboxCluster) -> None:
    argv = ["/bin/sh", "-c", RUN, "sh", "9000", "0.3"]
    done = worker_executor(marked.home, "slinky-1").run(
        argv, timeout_s=30, stdin=b"#!/bin/bash\n/usr/bin/sleep 600\n"
    )
    assert done.stderr == "124\n"


def test_a_trial_that_prints_for_ever_is_cut_off(marked: SandboxCluster) -> None:
    argv = ["/bin/sh", "-c", RUN, "sh", "100", "20"]
    done = worker_executor(marked.home, "slinky-1").run(
        argv, timeout_s=30, stdin=b"#!/bin/bash\n/usr/bin/yes\n"
    )
    assert len(done.stdout) == 100 and done.stderr == "141\n"
