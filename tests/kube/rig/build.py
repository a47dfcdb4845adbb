"""Builds a rig's programs once and keeps them: `python -m tests.kube.rig.build [fetch]`. Standard library only.

They lie in `${XDG_CACHE_HOME:-~/.cache}/quarterdeck/kube/<key>/`, where the key stands for every pin and flag. A build
is made aside and moved into place, so it is whole or not there; of two builders the second waits for the first. One
that was interrupted goes on where it was, as Go keeps what it has compiled.

Programs that the directory `KUBEBUILDER_ASSETS` holds are taken from there: usually etcd and kube-apiserver.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from console.run.death import die_with_parent
from tests.kube.rig import modules
from tests.kube.rig.go import CannotBuild, find_go
from tests.kube.rig.modules import KUSTOMIZE, MODULES, Module

Say = Callable[[str], None]
NEEDED_BYTES = 6 * 1024**3  # sources, Go's own cache and the programs, measured


@dataclass(frozen=True)
class Build:
    """Where a rig's programs and kwok's files are. Whole."""

    root: Path
    assets: Path | None

    def program(self, name: str) -> Path:
        ours = self.root / "bin" / name
        return self.assets / name if self.assets and not ours.exists() else ours

    @property
    def stages(self) -> list[Path]:
        """kwok's Stage objects: what its nodes and pods do."""
        return sorted((self.root / "stages").glob("*.yaml"))

    @property
    def crds(self) -> list[Path]:
        """The definitions of kwok's own kinds."""
        return sorted((self.root / "crds").glob("*.yaml"))


@dataclass(frozen=True)
class Plan:
    """What is to be built here, and where it goes."""

    cache: Path
    assets: Path | None
    programs: tuple[str, ...]

    @classmethod
    def here(cls) -> "Plan":
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        assets = Path(os.environ["KUBEBUILDER_ASSETS"]) if os.environ.get("KUBEBUILDER_ASSETS") else None
        names = [name for module in MODULES for name in module.packages]
        missing = tuple(name for name in names if not (assets and (assets / name).is_file()))
        return cls(Path(base) / "quarterdeck" / "kube", assets, missing)

    @property
    def entry(self) -> Path:
        return self.cache / modules.key(self.programs)

    @property
    def log(self) -> Path:
        return self.entry.with_suffix(".log")

    def wanted(self, module: Module) -> list[str]:
        """The packages of a module that become programs here."""
        return [package for name, package in module.packages.items() if name in self.programs]

    def title(self) -> str:
        return ", ".join(self.programs) if self.assets else modules.title()


def built() -> Build | None:
    """The rig's programs where they have been built already."""
    plan = Plan.here()
    return Build(plan.entry, plan.assets) if plan.entry.is_dir() else None


def build(say: Say) -> Build:
    """The programs, built when they are not yet: minutes, a quarter of an hour on two cores, with the network needed
    unless `fetch` was there before. `say` gets a line before and after. Raises `CannotBuild`.
    """
    plan = Plan.here()
    with _alone(plan):
        if not plan.entry.is_dir():
            _make(plan, say)
    return Build(plan.entry, plan.assets)


def build_beside(module: Module) -> Path:
    """The one program of a module that is no part of the rig, built when it is not yet: a minute on two cores. Raises
    `CannotBuild`.
    """
    plan, program = Plan.here(), _beside(module)
    with _alone(plan):
        if not program.exists():
            making = program.with_name(f".new-{program.name}")
            go = find_go(plan.cache, plan.log)
            flags = ("-trimpath", f"-ldflags={module.ldflags}")
            _go(go, module, plan.log, "build", *flags, "-o", f"{making}", *module.packages.values())
            making.rename(program)
    return program


def _beside(module: Module) -> Path:
    return Plan.here().cache / f"{module.name}-{modules.key_of(module)}"


def fetch(say: Say) -> None:
    """Everything that the builds need from the network, so that they need none later. Raises `CannotBuild`."""
    plan = Plan.here()
    with _alone(plan):
        if not _beside(KUSTOMIZE).exists():
            _fetch(plan, KUSTOMIZE)
        if plan.entry.is_dir():
            return say(f"{plan.title()}, from the cache")
        for module in MODULES:
            _fetch(plan, module)
    return say(f"{plan.title()}: sources fetched, built beside the first tests")


def _fetch(plan: Plan, module: Module) -> None:
    go = find_go(plan.cache, plan.log)
    _go(go, module, plan.log, "list", "-deps", *module.packages.values())


@contextmanager
def _alone(plan: Plan) -> Iterator[None]:
    plan.cache.mkdir(parents=True, exist_ok=True)
    with open(plan.entry.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(plan: Plan, say: Say) -> None:
    began = time.monotonic()
    _check_disk(plan.cache)
    go = find_go(plan.cache, plan.log)
    say(f"building {plan.title()} (a quarter of an hour on two cores, once; see {plan.log})")
    making = plan.entry.with_name(f".new-{plan.entry.name}")
    shutil.rmtree(making, ignore_errors=True)
    (making / "bin").mkdir(parents=True)
    for module in MODULES:
        _compile(go, module, plan, making)
    _take_kwok_files(go, plan.log, making)
    making.rename(plan.entry)
    say(f"{plan.title()}, built in {_duration(time.monotonic() - began)}, kept in the cache")


def _check_disk(cache: Path) -> None:
    free = shutil.disk_usage(cache).free
    if free < NEEDED_BYTES:
        have, need = free / 1024**3, NEEDED_BYTES / 1024**3
        raise CannotBuild(f"only {have:.1f} GB are free on the disk of {cache}, and Go takes {need:.0f} GB")


def _compile(go: Path, module: Module, plan: Plan, making: Path) -> None:
    packages = plan.wanted(module)
    if not packages:
        return
    # Into a directory, each gets its package's last name, which is wrong for etcd: that is named.
    into = making / "bin" / (module.name if packages == [module.pinned] else "")
    _go(go, module, plan.log, "build", "-trimpath", f"-ldflags={module.ldflags}", "-o", f"{into}", *packages)


def _take_kwok_files(go: Path, log: Path, making: Path) -> None:
    where = _go(go, modules.KWOK, log, "list", "-m", "-f", "{{.Dir}}", modules.KWOK.pinned)
    source = Path(where) / "kustomize"
    for kind in ("stages", "crds"):
        (making / kind).mkdir()
    for stage in modules.STAGES:
        _copy(source / "stage" / f"{stage}.yaml", making / "stages")
    for plural in modules.KINDS:
        _copy(source / "crd" / "bases" / f"kwok.x-k8s.io_{plural}.yaml", making / "crds")


def _copy(file: Path, directory: Path) -> None:
    (directory / file.name).write_bytes(file.read_bytes())  # the modes of Go's cache are read-only


def _go(go: Path, module: Module, log: Path, *arguments: str) -> str:
    """Run it in the module's directory, with what it prints. Errors go to the log; it dies with us."""
    with log.open("ab") as out:
        out.write(f"$ go {' '.join(arguments)}\n".encode())
        out.flush()
        done = subprocess.run(
            [str(go), *arguments],
            cwd=module.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            check=False,
            env=_environment(go),
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
    if done.returncode:
        raise CannotBuild(f"go {arguments[0]} failed for {module.name} ({_last_line(log)}); see {log}")
    return done.stdout.strip()


def _environment(go: Path) -> dict[str, str]:
    """A caller's own flags must not change what the key stands for. GOGC: the compiler collects less and is faster."""
    flags = "-mod=readonly -buildvcs=false"
    ours = {"CGO_ENABLED": "0", "GOFLAGS": flags, "GOWORK": "off", "GOTOOLCHAIN": "local", "GOGC": "400"}
    return {**os.environ, **ours, "PATH": f"{go.parent}:{os.environ.get('PATH', os.defpath)}"}


def _last_line(log: Path) -> str:
    return log.read_text(errors="replace").strip().splitlines()[-1][:200]


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 with one line when it cannot be built here."""
    try:
        if arguments == ["fetch"]:
            fetch(print)
        else:
            build(print)
    except (CannotBuild, OSError) as problem:
        print(f"cannot be built here: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
