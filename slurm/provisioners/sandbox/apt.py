"""Packages of any Debian suite by the machine's own apt, with a state of our own: nothing is installed.

apt verifies every signature with the Debian archive keyring. Proxies and other transport settings of the machine stay
in force; its package state is neither read nor written. Used by `tree`, which holds the build lock.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from console.errors import Unavailable
from slurm.provisioners.sandbox.images import Image
from slurm.provisioners.sandbox.mirrors import KEYRING, debian_mirrors

MIRROR_VARIABLE = "QUARTERDECK_DEBIAN_MIRROR"


@dataclass
class Apt:
    """`sources` are the candidates for the source list, tried in order; empty means the machine's own sources."""

    state: Path
    archives: Path
    sources: tuple[str, ...] = ()

    def update(self) -> None:
        """Fetch the package lists from the first candidate that answers with a valid signature."""
        errors: list[str] = []
        for line in self.sources or ("",):
            (self.state / "sources.list").write_text(line)
            done = self._run("update", timeout_s=300)
            if done.returncode == 0 and "\nE:" not in done.stderr and "\nW: Failed" not in "\n" + done.stderr:
                return
            errors.append(_last_errors(done.stderr))
        raise Unavailable(
            f"apt could not read the package lists: {'; '.join(errors)}",
            f"Check the network (and proxy settings of apt), or name another Debian mirror in {MIRROR_VARIABLE}.",
        )

    def closure(self, packages: list[str]) -> dict[str, str]:
        """name -> version of everything an empty system would need for these packages."""
        done = self._run("-s", "--no-install-recommends", "install", *packages)
        found = dict(re.findall(r"^Inst (\S+) \((\S+)", done.stdout, re.MULTILINE))
        if done.returncode or not found:
            raise Unavailable(f"apt cannot resolve Slurm's packages: {_last_errors(done.stderr)}")
        return found

    def download(self, packages: list[str], versions: dict[str, str]) -> list[Path]:
        """The .deb files of the closure; those already here and intact are not fetched again."""
        done = self._run(
            "-y", "--download-only", "--no-install-recommends", "install", *packages, timeout_s=900
        )
        if done.returncode:
            raise Unavailable(
                f"The packages could not be downloaded: {_last_errors(done.stderr)}",
                "Check the network and try again.",
            )
        return [self._file(name, version) for name, version in sorted(versions.items())]

    def _file(self, name: str, version: str) -> Path:
        found = sorted(self.archives.glob(f"{name}_{version.replace(':', '%3a')}_*.deb"))
        if not found:
            raise Unavailable(
                f"apt did not leave {name} {version} in {self.archives}.", "Remove that directory, try again."
            )
        return found[0]

    def _run(self, *arguments: str, timeout_s: int = 60) -> "subprocess.CompletedProcess[str]":
        command = ["apt-get", *self._options(), *arguments]
        environment = dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive")
        try:
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=timeout_s
            )
        except subprocess.TimeoutExpired as late:
            raise Unavailable(
                f"apt-get {arguments[0]} did not finish within {timeout_s} s.",
                "Check the network and try again.",
            ) from late

    def _options(self) -> list[str]:
        settings = {
            "Dir::State": self.state,
            "Dir::State::lists": self.state / "lists",
            "Dir::State::status": self.state / "status",
            "Dir::Cache": self.state,
            "Dir::Cache::archives": self.archives,
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Sandbox::User": "",
            "APT::Get::List-Cleanup": "false",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "3",
            "Acquire::http::Timeout": "20",
        }
        if self.sources:
            settings |= {
                "Dir::Etc::sourcelist": self.state / "sources.list",
                "Dir::Etc::sourceparts": "/dev/null",
            }
        return [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]


def apt_for(image: Image, cache: Path, say: Callable[[str], None]) -> Apt:
    """apt with a state of its own for this image. Raises `Unavailable` where apt or a Debian mirror is missing."""
    _require_tools()
    state = cache / "apt" / (image.suite or "host")
    archives = cache / "debs"
    for directory in (state / "lists/partial", archives / "partial"):
        directory.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    if image.suite is None:
        return Apt(state, archives)
    keyring = _debian_keyring(cache, say)
    mirrors = _mirrors()
    return Apt(
        state, archives, tuple(f"deb [signed-by={keyring}] {uri} {image.suite} main\n" for uri in mirrors)
    )


def _require_tools() -> None:
    missing = [tool for tool in ("apt-get", "dpkg-deb", "tar") if not shutil.which(tool)]
    if missing:
        raise Unavailable(
            f"The sandbox unpacks Debian packages and needs {', '.join(missing)}.",
            "Use a Debian or Ubuntu machine.",
        )


def _mirrors() -> tuple[str, ...]:
    named = os.environ.get(MIRROR_VARIABLE)
    mirrors = (named.rstrip("/"),) if named else debian_mirrors()
    if not mirrors:
        raise Unavailable(
            "This machine's apt sources name no Debian mirror: the sandbox cannot know where its packages are.",
            f"Set {MIRROR_VARIABLE} to the address of a Debian mirror (the directory that holds `dists`).",
        )
    return mirrors


def _debian_keyring(cache: Path, say: Callable[[str], None]) -> Path:
    """The machine's, or where it has none (Ubuntu) the one in the distribution's own signed package."""
    if KEYRING.exists():
        return KEYRING
    home = cache / "keyring"
    keyring = home / KEYRING.relative_to("/")
    if not keyring.exists():
        home.mkdir(parents=True, exist_ok=True)
        say("Fetching Debian's archive keys (package debian-archive-keyring).")
        fetched = subprocess.run(
            ["apt-get", "download", KEYRING.stem], cwd=home, capture_output=True, text=True, check=False
        )
        for package in home.glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", str(package), str(home)], check=False)
        if not keyring.exists():
            said = fetched.stderr.strip()[-200:]
            raise Unavailable(
                f"Debian's archive keys are not on this machine and apt could not fetch them: {said}",
                "Install the package debian-archive-keyring.",
            )
    return keyring


def _last_errors(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.startswith(("E:", "W:", "Err:"))]
    return " ".join(lines[-2:]) or stderr.strip()[-200:]
