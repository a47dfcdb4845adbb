"""A terminal on a genuine cluster's login node, brought up by the sandbox: the path that people take."""

import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from clusters.lifecycle import Status
from clusters.models import Cluster, Region
from clusters.spec import to_json
from console.models import Team
from slurm.provisioners.sandbox.space import wait_until
from slurm.terminal.opening import ssh_command
from tests.cast import tiny_spec
from tests.slurm.terminal.client import Page
from tests.slurm.terminal.conftest import Console


@pytest.fixture
def own_key(tmp_path: Path) -> Path:
    """The private half; beside it lies the public one, which the cluster's spec holds."""
    key = tmp_path / "own_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    return key


@pytest.fixture
def real(team: Team, processes: Console, settings: LazySettings, own_key: Path) -> Iterator[Cluster]:
    """Two GPU workers and a CPU worker, up, in the folder that the console's processes look into."""
    settings.VAR_DIR = processes.scratch / "var"
    region = Region.objects.create(slug="local", name="Local", provisioner="sandbox")
    made = Cluster.objects.create(team=team, region=region, slug="real", status=Status.RUNNING)
    spec = tiny_spec("real", ssh_keys=(own_key.with_suffix(".pub").read_text().strip(),))
    made.revision = made.revisions.create(number=1, spec=to_json(spec))
    made.save()
    said: list[str] = []
    try:
        made.provisioner.apply(spec, said.append)
        assert wait_until(lambda: made.provisioner.judge(spec).verdict == "done", 30), said
        yield made
    finally:
        made.provisioner.destroy(said.append)


@pytest.mark.usefixtures("console")
def test_slurm_s_commands_work_in_the_terminal(page: Callable[..., Page], real: Cluster) -> None:
    mo = page("mo", cluster="real")
    assert mo.open(columns=160, rows=40)["kind"] == "ready"
    mo.type("PS1='ready> '; bind 'set enable-bracketed-paste off'\n")
    mo.read_until("\rready> ")
    assert "slinky-[0-1]" in mo.run("sinfo -h -o %N -p slinky", within_s=15)
    assert mo.run("srun -N1 -t1 --gres=gpu:2 printenv CUDA_VISIBLE_DEVICES", within_s=20).strip() == "0,1"
    number = mo.run("sbatch --parsable -t1 -o none -J from-the-page --wrap 'sleep 60'", within_s=15).strip()
    assert "from-the-page" in mo.run(f"squeue -h -o '%i %j' -j {number}", within_s=15)
    assert f"JobId={number}" in mo.run(f"scontrol -o show job {number}", within_s=15)
    mo.run(f"scancel {number}", within_s=15)
    seen = "until sacct -n -X -o jobname%20 | grep --color=never -m1 printenv; do sleep 0.2; done"
    assert mo.run(seen, within_s=15).strip() == "printenv"


@pytest.mark.usefixtures("processes")
def test_a_stored_key_signs_in_by_the_command_of_the_page(real: Cluster, own_key: Path) -> None:
    login = real.provisioner.login()
    known = own_key.with_name("known")
    known.write_text(f"[{login.host}]:{login.port} {login.host_key}\n")
    options = [
        "-i",
        str(own_key),
        "-o",
        "IdentitiesOnly=yes",
        "-o",
        f"UserKnownHostsFile={known}",
        "-F",
        "none",
    ]
    done = subprocess.run(
        [*shlex.split(ssh_command(login)), *options, "sinfo -h -o %N -p slinky"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == "slinky-[0-1]", done.stderr
