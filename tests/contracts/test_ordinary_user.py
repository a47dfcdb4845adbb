"""The contract's sandbox half once more, by an ordinary user: where the tests run as root, that is `nobody` under
setpriv, with a cache of packages and trees of its own. Without ranges of numbers everybody in a cluster is that user;
with them, given in a mount namespace of the command, login users are themselves."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.own_services import OURS, SETTINGS
from tests.slurm.sandbox.ordinary import CACHE, NOBODY, become_nobody, own_cache, show_python

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ("tests/contracts/test_provisioner.py", "tests/contracts/test_setbacks.py")
# The watcher's part asks the database, which is of this run.
WHOSE = "sandbox and not watcher"
SOME = "applying_brings or refuses_is_told or by_their_ordinals or at_its_path"
LIMIT_S = 900
NOT_THEIRS = {OURS, "QUARTERDECK_SECRETS_DIR", "QUARTERDECK_VAR_DIR", "PYTEST_ADDOPTS"}
LOGIN_USERS = ("tests/slurm/sandbox/test_ranges.py", "tests/contracts/test_logins.py")
# Everything else that is about login users, and the whole contract.
ALL_LOGIN_USERS = (*LOGIN_USERS, "tests/slurm/sandbox/test_login_users.py", *FILES)
# For nobody: as many as Debian's adduser gives.
RANGES = f"{NOBODY}:2000000000:65536\n"
# Who has ranges of numbers, whoever has them on this machine.
GIVE = """
touch /etc/subuid /etc/subgid && mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift && exec "$@"
"""


@dataclass(frozen=True)
class Ordinary:
    """Runs our Python as somebody who is not root, in `home`, with these lines in /etc/subuid and /etc/subgid."""

    home: Path
    ranges: str = ""

    def run(self, *words: str, limit_s: float) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self._apart(), *show_python(self.home), *become_nobody(), sys.executable, *words],
            cwd=REPOSITORY,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )

    def _apart(self) -> list[str]:
        """The words before a command that is to have its own idea of /etc/subuid and /etc/subgid."""
        place = self.home / "ranges"
        place.write_text(self.ranges)
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", GIVE, "sh", str(place)]

    def cannot(self) -> str:
        """Why there is no such sandbox here; empty when there is."""
        why = self._said(
            "import django; from slurm.provisioners.sandbox.space import can_make_rooms as can; print(can())"
        )
        return f"namespaces are refused to ordinary users: {why}" if why else ""

    def lacks(self) -> str:
        """Why login users are not told apart; empty when they are."""
        return self._said("from slurm.provisioners.sandbox.apart import lack; print(' '.join(lack() or ()))")

    def _said(self, look: str) -> str:
        done = self.run("-c", look, limit_s=60)
        if done.returncode:
            return f"a user other than root cannot run the console: {done.stderr.strip()[-200:]}"
        return done.stdout.strip()

    def passes(self, files: Sequence[str], chosen: str) -> str:
        """Run these tests, none of which may be skipped for want of anything; what pytest said."""
        done = self.run(
            "-m", "pytest", *files, "-n0", "-rs", "-p", "no:cacheprovider", "-k", chosen, limit_s=LIMIT_S
        )
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert "SKIPPED" not in done.stdout, done.stdout[-2000:]
        return done.stdout

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
    ordinary.passes(FILES, f"{WHOSE} and ({which})" if which else WHOSE)


def test_without_ranges_everybody_is_one_user_and_it_is_said_why(ordinary: Ordinary) -> None:
    assert "usermod --add-subuids" in ordinary.lacks()


@pytest.fixture(scope="module")
def with_ranges(ordinary: Ordinary) -> Ordinary:
    given = replace(ordinary, ranges=RANGES)
    if why := given.lacks():
        pytest.skip(why)
    return given


@pytest.mark.timeout(LIMIT_S + 30)
@pytest.mark.parametrize(
    "files", [LOGIN_USERS, pytest.param(ALL_LOGIN_USERS, marks=pytest.mark.long)], ids=["some", "all"]
)
def test_by_ranges_login_users_are_themselves(with_ranges: Ordinary, files: Sequence[str]) -> None:
    with_ranges.passes(files, "not fake and not watcher")
