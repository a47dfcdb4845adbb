"""Bad configurations that nobody checked, through the whole pipeline on a live cluster: each is rolled back, its page
has the daemon's words at the line, and the running job goes on."""

from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings

from clusters.changes import propose
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster
from clusters.observation import Verdict
from clusters.provisioner import ClusterRef
from clusters.run import run
from clusters.spec import ClusterSpec, NodeGroup, Shape, to_json
from slurm import configuration
from slurm.configuration import read
from slurm.provisioners.sandbox import adapter
from slurm.provisioners.sandbox.adapter import Sandbox
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.space import wait_until
from slurm.templatetags.conf import conf_problems
from tests.cast import the_cast
from tests.slurm.job_rows import make_cluster

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "crollbacktest"
MINE = "# ours\nReturnToService=2\nKillWait=30\n"
SPEC = ClusterSpec(
    name="rolled",
    image="slurm-24-11",
    slurm_version="24.11",
    groups=(NodeGroup("slinky", Shape("gpu-2x", 4, 4000, 2, "h100"), (0, 1)),),
    slurm_conf=MINE,
)
BAD = (
    "FooBar=1",
    "SlurmctldTimeout=abc",
    "SelectType=select/nope",
    "SelectTypeParameters=CR_Bogus",
    "PartitionName=px Nodes=ghost-[1-2]",
    "PartitionName=px Nodes=slinky-[0-",
    "NodeName=slinky-1 CPUs=4",
    "PartitionName=px Nodes=slinky-0 State=FOO",
    "PartitionName=px Nodes=slinky-0 MaxTime=banana",
    "PartitionName=px Nodes=slinky-0 Frob=1",
    "garbage words here",
    "PriorityType=priority/nope",
    "AccountingStorageEnforce=bogus",
    "StateSaveLocation=/nonexistent/state",
)


@pytest.fixture(scope="module")
def living(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A cluster of the adapter's own that outlives the database of each test."""
    before = django_settings.VAR_DIR
    django_settings.VAR_DIR = tmp_path_factory.mktemp("var")
    sandbox = Sandbox(ClusterRef(key=KEY, name="rolled", team="research"))
    try:
        sandbox.apply(SPEC, lambda text: None)
        assert wait_until(lambda: sandbox.judge(SPEC).verdict is Verdict.DONE, 60), sandbox.judge(SPEC).why
        yield sandbox
    finally:
        sandbox.destroy(lambda text: None)
        django_settings.VAR_DIR = before


@pytest.fixture(scope="module")
def job(living: Sandbox) -> str:
    """A job that runs through all tests."""
    argv = ["sbatch", "--parsable", "-t", "60", "-o", "/dev/null", "--wrap", "sleep 3000"]
    number = living.executor().run(argv, timeout_s=10).stdout.decode().strip()
    assert wait_until(lambda: state_of(living, number) == "RUNNING", 20), state_of(living, number)
    return number


@pytest.fixture
def cluster(living: Sandbox) -> Cluster:
    made = make_cluster(the_cast().team, slug="rolled")
    made.key = KEY
    made.save()
    made.revision.spec = to_json(SPEC)
    made.revision.save()
    return Cluster.objects.get(pk=made.pk)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch, settings) -> None:
    """Neither the catalogue nor the shadow looks."""
    settings.SHADOW_CHECK = False
    monkeypatch.setattr(configuration, "check_conf", lambda *args, **kwargs: ())
    monkeypatch.setattr(adapter, "check_conf", lambda *args, **kwargs: ())


def state_of(sandbox: Sandbox, number: str) -> str:
    done = sandbox.executor().run(["squeue", "-h", "-t", "all", "-o", "%T", "-j", number], timeout_s=10)
    return done.stdout.decode().strip()


@pytest.mark.parametrize("line", BAD)
@pytest.mark.usefixtures("unchecked")
def test_it_is_rolled_back_and_the_job_goes_on(
    cluster: Cluster, living: Sandbox, job: str, line: str
) -> None:
    by = cluster.team.memberships.get(user__username="ada")
    asked = propose(cluster, cluster.spec.with_slurm_conf(f"{MINE}{line}\n"), base=1, by=by)
    run(asked.pk)
    change = Change.objects.get(pk=asked.pk)
    assert change.status == ChangeStatus.ROLLED_BACK, (change.why, [said.text for said in change.lines.all()])
    shown = [problem for problem in conf_problems(change) if problem.line]
    assert shown, change.problems
    assert any(line in around.text for around in shown[0].lines if around.number == shown[0].line), shown
    assert living.judge(SPEC).verdict is Verdict.DONE
    assert state_of(living, job) == "RUNNING"
    assert read(Cluster.objects.get(pk=cluster.pk)).revision == 1
