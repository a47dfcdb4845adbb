"""Container options are offered exactly where the cluster's own srun knows them."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from clusters.models import Cluster
from clusters.provisioner import Completed
from console.errors import Unavailable
from slurm import containers
from slurm.batch_script import problems
from slurm.configuration import read, review
from slurm.containers import has_containers, known_containers
from tests.cast import Cast, the_cast, tiny_cluster
from tests.fakes import FakeExecutor

pytestmark = pytest.mark.django_db
PYXIS = b"Usage: srun [OPTIONS]\n\nOptions provided by plugins:\n      --container-image=[USER@][REGISTRY#]IMAGE\n"
PLAIN = b"Usage: srun [OPTIONS]\n      --container=PATH  Path to OCI container bundle\n"
ASKS = "#!/bin/bash\n#SBATCH --container-image=ubuntu\ntrue\n"
RUNS = "#!/bin/bash\nsrun --container-image=ubuntu true\n"


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Iterator[Cluster]:
    containers._answers.clear()
    yield tiny_cluster(cast.team)
    containers._answers.clear()


def says(monkeypatch: pytest.MonkeyPatch, answer: bytes | None) -> list[list[str]]:
    """What srun prints on the login node; None is silence. The commands that were run."""
    asked: list[list[str]] = []

    def run(self: FakeExecutor, argv: list[str], *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        asked.append(list(argv))
        if answer is None:
            raise Unavailable("No answer.")
        return Completed(0, answer, "")

    monkeypatch.setattr(FakeExecutor, "run", run)
    return asked


@pytest.mark.parametrize(("answer", "found"), [(PYXIS, True), (PLAIN, False), (None, None)])
def test_srun_is_asked_once(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, answer: bytes | None, found: bool | None
) -> None:
    asked = says(monkeypatch, answer)
    assert known_containers(cluster) is None and asked == []
    assert has_containers(cluster) is found and has_containers(cluster) is found
    assert asked == [["srun", "--help"]] and known_containers(cluster) is found


@pytest.mark.parametrize(
    ("answer", "there", "away"),
    [
        (PYXIS, "--container-mounts", "runs no container images"),
        (PLAIN, "This cluster runs no container images", 'data-option="--container-image"'),
        (None, "could not be asked", 'data-option="--container-image"'),
    ],
)
def test_the_form_offers_only_what_would_not_fail(
    cluster: Cluster, cast: Cast, monkeypatch: pytest.MonkeyPatch, answer: bytes | None, there: str, away: str
) -> None:
    says(monkeypatch, answer)
    client = Client()
    client.force_login(cast.ada.user)
    page = client.get(reverse("job-submit", args=(cast.team.slug, cluster.slug))).content.decode()
    assert there in page and away not in page


@pytest.mark.parametrize(
    ("answer", "says_so", "advises"),
    [
        (PYXIS, "Jobs may run in container images here", True),
        (PLAIN, "This cluster runs no container images", False),
        (None, "could not be asked", False),
    ],
)
def test_the_configuration_says_it_and_advises_where_another_list_of_plugins_would_end_it(
    cluster: Cluster,
    cast: Cast,
    monkeypatch: pytest.MonkeyPatch,
    answer: bytes | None,
    says_so: str,
    advises: bool,
) -> None:
    says(monkeypatch, answer)
    client = Client()
    client.force_login(cast.ada.user)
    assert says_so in client.get(reverse("slurm-conf", args=(cast.team.slug, cluster.slug))).content.decode()
    current = read(cluster)
    found = review(
        cluster, current.with_settings("PlugStackConfig=/etc/slurm/other.conf\n"), base=1, shadow=False
    )
    assert [not problem.blocking for problem in found.problems if "Pyxis" in problem.message] == [
        True
    ] * advises
    assert not review(cluster, current.with_settings("MaxJobCount=20000\n"), base=1, shadow=False).problems


@pytest.mark.parametrize(("known", "stops"), [(True, None), (None, None), (False, 2)])
def test_a_directive_that_sbatch_would_refuse_is_stopped(known: bool | None, stops: int | None) -> None:
    found = problems(ASKS, {}, containers=known)
    assert [problem.line for problem in found if problem.blocking] == ([stops] if stops else [])


def test_a_command_that_srun_would_refuse_is_advised_against() -> None:
    (found,) = problems(RUNS, {}, containers=False)
    assert found.line == 2 and not found.blocking and "--container-image" in found.message
    assert problems(RUNS, {}, containers=True) == ()


def test_slurms_own_container_option_is_left_alone() -> None:
    assert problems("#!/bin/bash\n#SBATCH --container=/bundle\ntrue\n", {}, containers=False) == ()
