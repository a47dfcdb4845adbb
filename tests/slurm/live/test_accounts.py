"""The accounting database of a real cluster, read by the client."""

from datetime import UTC, datetime, timedelta

import pytest

from slurm.accounts.enforcement import enforcement_of
from slurm.jobs.ids import number
from tests.slurm.live.conftest import SLEEP, until

# Lower case, as sacctmgr makes it.
EVIL = "a|b\nroot|root|evil\t<ffffffff>"


@pytest.fixture
def sacctmgr(slurm):
    """Runs a command of sacctmgr; what it added is taken away afterwards."""

    def run(*words):
        done = slurm.executor.run(["sacctmgr", "-i", *words], timeout_s=20)
        assert done.code == 0, done

    yield run
    for kind in ("account", "qos"):
        names = f"name={EVIL},vision,short"
        slurm.executor.run(["sacctmgr", "-i", "remove", kind, "where", names], timeout_s=20)


def test_the_book_holds_what_sacctmgr_was_told_whatever_is_in_names(slurm, sacctmgr):
    cluster = slurm.config()["ClusterName"]
    sacctmgr("add", "qos", "short", "MaxTRESPerUser=gres/gpu=4", "flags=DenyOnLimit", f"description={EVIL}")
    sacctmgr(
        "add", "account", "vision", f"cluster={cluster}", "fairshare=20", "MaxJobs=3", f"description={EVIL}"
    )
    sacctmgr("add", "account", EVIL, f"cluster={cluster}", "parent=vision")
    book = slurm.book(cluster)
    assert [branch.own.account for branch in book.tree()] == ["root", "vision", EVIL]
    assert book.tree()[-1].is_odd and book.tree()[-1].in_force.limits == {"MaxJobs": "3"}
    assert book.about("vision").description == EVIL
    assert book.named_qos("short").limits == {"MaxTRESPerUser": "gres/gpu=4"}
    assert book.of_user("root")[0].account == "root"


def test_shares_priorities_and_a_users_history(slurm):
    slurm.submit(SLEEP, ["-w", "slinky-0", "--gres=gpu:8"])
    waiting = slurm.submit(SLEEP, ["-w", "slinky-0", "--gres=gpu:8"])
    until(lambda: any(one.number == waiting for one in slurm.priorities()))
    assert [(one.account, one.user) for one in slurm.shares()][:2] == [("root", ""), ("root", "root")]
    began = datetime.now(UTC) - timedelta(minutes=5)
    until(lambda: waiting in {number(job.job_id) for job in slurm.history(began, user="root")})
    assert slurm.history(began, user="nobody") == ()


def test_what_is_enforced_and_a_dump(slurm):
    config = slurm.config()
    found = enforcement_of(config)
    assert found.has_accounting and not found.limits
    dump = slurm.dump_accounts(config["ClusterName"]).decode()
    assert f"Cluster - '{config['ClusterName']}'" in dump and "Parent - 'root'" in dump
