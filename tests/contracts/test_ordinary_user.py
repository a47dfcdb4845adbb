"""The contract's sandbox half once more, by an ordinary user: where the tests run as root, that is `nobody` under
setpriv, with a cache of packages and trees of its own."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.own_services import OURS, SETTINGS
from tests.slurm.sandbox.ordinary import CACHE, NOBODY, become_nobody, own_cache

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ("tests/contracts/test_provisioner.py", "tests/contracts/test_setbacks.py")
# The watcher's part asks the database, which is of this run.
WHOSE = "sandbox and not watcher"
SOME = "applying_brings or refuses_is_told or by_their_ordinals or at_its_path"
LIMIT_S = 900
NOT_THEIRS = {OURS, "QUARTERDECK_SECRETS_DIR", "QUARTERDECK_VAR_DIR", "PYTEST_ADDOPTS"}
# Python's own files, shown at their place with nothing else in the directory that is closed to others.
SHOW = """
mount --bind "$1" "$2" && mount -t tmpfs -o mode=755 tmpfs "$3" && mkdir -p "$1" && mount --bind "$2" "$1" &&
shift 3 && exec "$@"
"""


@dataclass(frozen=True)
class Ordinary:
    """Runs our Python as somebody who is not root, in `home`."""

    home: Path

    def run(self, *words: str, limit_s: float) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self._show_python(), *become_nobody(), sys.executable, *words],
            cwd=REPOSITORY,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )

    def _show_python(self) -> list[str]:
        """The words before a command that needs Python from root's own home, in a mount namespace of the command."""
        above = reversed(Path(sys.base_prefix).parents)
        closed = next((str(path) for path in above if not path.stat().st_mode & stat.S_IXOTH), "")
        if not closed:
            return []
        place = self.home / "python"
        place.mkdir(exist_ok=True)
        apart = ["unshare", "--mount", "--propagation", "private"]
        return [*apart, "sh", "-c", SHOW, "sh", sys.base_prefix, str(place), closed]

    def cannot(self) -> str:
        """Why there is no such sandbox here; empty when there is."""
        look = "import django; from slurm.provisioners.sandbox.space import can_make_rooms; print(can_make_rooms())"
        done = self.run("-c", look, limit_s=30)
        if done.returncode:
            return f"a user other than root cannot run the console: {done.stderr.strip()[-200:]}"
        why = done.stdout.strip()
        return f"namespaces are refused to ordinary users: {why}" if why else ""

    def _environment(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if "XDIST" not in name}
        return {
            **{name: value for name, value in ours.items() if name not in NOT_THEIRS},
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "XDG_CACHE_HOME": str(CACHE),
            "PYTHONDONTWRITEBYTECODE": "1",
            **dict(zip(SETTINGS, ("none", "A" * 43 + "="), strict=True)),
        }


@pytest.fixture(scope="module")
def ordinary() -> Iterator[Ordinary]:
    if os.getuid():
        pytest.skip("these tests are an ordinary user's already")
    own_cache(CACHE)
    with tempfile.TemporaryDirectory(prefix="quarterdeck-ordinary-") as home:
        os.chown(home, NOBODY, NOBODY)
        made = Ordinary(Path(home))
        if why := made.cannot():
            pytest.skip(why)
        yield made


@pytest.mark.timeout(LIMIT_S + 30)
@pytest.mark.parametrize("which", [SOME, pytest.param("", marks=pytest.mark.long)], ids=["some", "all"])
def test_an_ordinary_users_sandbox_keeps_the_contract(ordinary: Ordinary, which: str) -> None:
    chosen = f"{WHOSE} and ({which})" if which else WHOSE
    done = ordinary.run(
        "-m", "pytest", *FILES, "-n0", "-p", "no:cacheprovider", "-k", chosen, limit_s=LIMIT_S
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "SKIPPED" not in done.stdout, done.stdout[-2000:]
