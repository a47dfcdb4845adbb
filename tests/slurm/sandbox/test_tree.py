"""Root trees: built once, found again without network, never half there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from console.errors import Unavailable
from slurm.provisioners.sandbox import tree as trees
from slurm.provisioners.sandbox.apt import MIRROR_VARIABLE, apt_for
from slurm.provisioners.sandbox.images import IMAGES, Tree
from slurm.provisioners.sandbox.mirrors import debian_mirrors, parse_lines, parse_stanzas
from slurm.provisioners.sandbox.space import wait_until

IMAGE = IMAGES["24.11"]
BUILD = """
import sys
from pathlib import Path
from slurm.provisioners.sandbox.images import IMAGES
from slurm.provisioners.sandbox.tree import build_tree
print("path", build_tree(IMAGES["24.11"], lambda said: print(said, flush=True), Path(sys.argv[1])).root)
"""


@pytest.fixture
def cache(tree: Tree, tmp_path: Path) -> Path:
    """An empty cache that has the packages already."""
    (tmp_path / "cache").mkdir()
    debs = tmp_path / "cache/debs"
    debs.mkdir()
    for package in (trees.cache_home() / "debs").glob("*.deb"):
        os.link(package, debs / package.name)
    return tmp_path / "cache"


def builder(cache: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", BUILD, str(cache)], stdout=subprocess.PIPE, text=True)


def test_a_tree_has_what_slurm_and_a_login_need(tree: Tree) -> None:
    for program in (
        "sbin/slurmctld",
        "sbin/slurmd",
        "bin/srun",
        "sbin/mariadbd",
        "sbin/sshd",
        "bin/sh",
        "bin/vi",
    ):
        assert (tree.root / "usr" / program).exists(), program
    assert tree.release == (24, 11)
    assert (tree.root / "bin").readlink() == Path("usr/bin")


def test_a_built_tree_is_found_without_asking_anybody(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    said: list[str] = []
    assert trees.build_tree(IMAGE, said.append) == tree
    assert said == []


def test_a_killed_builder_leaves_nothing_that_is_taken_for_a_tree_and_two_at_once_make_one(
    cache: Path,
) -> None:
    first = builder(cache)
    assert wait_until(lambda: list(cache.glob("trees/.building-*/root/usr/bin/*")), 60)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert trees.cached_tree(IMAGE, cache) is None

    pair = [builder(cache), builder(cache)]
    said = [process.communicate(timeout=110)[0].splitlines() for process in pair]
    assert {process.returncode for process in pair} == {0}
    assert said[0][-1] == said[1][-1] == f"path {trees.cached_tree(IMAGE, cache).root}"  # type: ignore[union-attr]
    assert sum("Unpacked" in line for lines in said for line in lines) == 1
    assert not list(cache.glob("trees/.building-*"))


def test_a_full_disk_is_said_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "NEEDED_MIB", 10**9)
    with pytest.raises(Unavailable, match="are free in") as refused:
        trees.build_tree(IMAGE, print, tmp_path)
    assert "XDG_CACHE_HOME" in refused.value.hint


def test_a_mirror_that_does_not_answer_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MIRROR_VARIABLE, "http://127.0.0.1:1/debian")
    with pytest.raises(Unavailable, match="127.0.0.1") as refused:
        trees.build_tree(IMAGE, print, tmp_path)
    assert MIRROR_VARIABLE in refused.value.hint


def test_without_apt_the_machine_is_named_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Unavailable, match="apt-get"):
        apt_for(IMAGE, tmp_path, print)


STANZAS = """\
# The distribution
Types: deb deb-src
URIs: http://mirror.example/debian/
 http://second.example/debian
Suites: trixie trixie-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: trixie
Components: main

Types: deb
URIs: http://tools.example/repo
Suites: stable
Components: main
"""


def test_mirrors_are_read_from_both_forms_of_sources(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# nothing\ndeb [arch=amd64 signed-by=/k.gpg] http://third.example/debian bookworm main\n"
        "deb cdrom:[Debian]/ bookworm main\ndeb-src http://src.example/debian bookworm main\n"
    )
    (tmp_path / "sources.list.d/debian.sources").write_text(STANZAS)
    assert debian_mirrors(tmp_path) == (
        "http://third.example/debian",
        "http://mirror.example/debian",
        "http://second.example/debian",
        "http://tools.example/repo",
    )


def test_options_and_disabled_stanzas_are_understood() -> None:
    (line,) = parse_lines("deb [ arch=amd64 signed-by=/k.gpg ] http://x.example/debian sid main # note\n")
    assert (line.uri, line.suites, line.components, line.signed_by) == (
        "http://x.example/debian",
        ("sid",),
        ("main",),
        "/k.gpg",
    )
    assert [source.uri for source in parse_stanzas(STANZAS)] == [
        "http://mirror.example/debian/",
        "http://second.example/debian",
        "http://tools.example/repo",
    ]


def test_a_machine_of_another_kind_names_no_debian_mirror(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb http://archive.example/ubuntu noble main universe\n")
    assert debian_mirrors(tmp_path) == ()
