"""Build the root tree of an image from Debian packages, once a machine and user, without root and without installing.

Trees and packages are cached by content below `${XDG_CACHE_HOME:-~/.cache}/quarterdeck`, so a second checkout builds
nothing. A tree appears by one rename: whatever is killed half-way leaves only a directory that the next build removes.
Blocking (about 15 s the first time, instantly afterwards). Used by the adapter, `make run` and the tests.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from console.errors import Unavailable
from slurm.provisioners.sandbox.apart import Way, way
from slurm.provisioners.sandbox.apt import apt_for
from slurm.provisioners.sandbox.dress import dress_root, let_sudo, link_slurm_binaries, prepare_root
from slurm.provisioners.sandbox.images import RECIPE, Image, Tree

NEEDED_MIB = 800
Say = Callable[[str], None]


def cache_home() -> Path:
    """Where trees and packages are kept between checkouts."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "quarterdeck"


def cached_tree(image: Image, cache: Path | None = None) -> Tree | None:
    """The newest tree of this image and recipe if it has been built; touches no network."""
    cache = cache or cache_home()
    try:
        key = (cache / "trees" / f"{_label(image)}.current").read_text().strip()
        facts = json.loads((cache / "trees" / key / "tree.json").read_text())
    except FileNotFoundError:
        return None
    root = cache / "trees" / key / "root"
    return Tree(image, root, key, facts["slurm_version"]) if root.is_dir() else None


def build_tree(image: Image, say: Say = print, cache: Path | None = None, *, refresh: bool = False) -> Tree:
    """The image's tree, built if it is not there. Idempotent; two builders at once make one tree.

    `refresh` asks the mirror again and builds a new tree if a package changed. Raises `Unavailable` with what to do
    when apt, the network, the disk or the address of a Debian mirror is missing.
    """
    cache = cache or cache_home()
    found = cached_tree(image, cache)
    if not found or refresh:
        with _build_lock(cache, say):
            found = cached_tree(image, cache)
            found = found if found and not refresh else _build(image, cache, Steps(say))
    if way() is Way.RANGES:
        let_sudo(cache / "trees")
    return found


@dataclass
class Steps:
    """Says each finished step with its time in seconds."""

    say: Say
    began: float = 0.0

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.say(f"{what} ({time.monotonic() - began:.1f} s)")


def _build(image: Image, cache: Path, steps: Steps) -> Tree:
    _check_disk(cache)
    apt = apt_for(image, cache, steps.say)
    steps.say(f"Fetching Slurm for Debian {image.suite or 'of this machine'}, which is not here yet.")
    with steps.step("Read the package lists"):
        apt.update()
        versions = apt.closure(image.packages)
    key = f"{_label(image)}-{_digest(image, versions)}"
    home = cache / "trees" / key
    if not home.is_dir():
        with steps.step(f"Downloaded {len(versions)} packages"):
            files = apt.download(image.packages, versions)
        _unpack(image, files, home, versions, steps)
    pointer = cache / "trees" / f"{_label(image)}.current"
    _write_atomically(pointer, key + "\n")
    tree = cached_tree(image, cache)
    assert tree is not None
    return tree


def _unpack(image: Image, files: list[Path], home: Path, versions: dict[str, str], steps: Steps) -> None:
    _remove_leftovers(home.parent)
    building = home.parent / f".building-{os.getpid()}"
    root = building / "root"
    root.mkdir(parents=True)
    with steps.step(f"Unpacked {len(files)} packages"):
        prepare_root(root)
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda file: _extract(file, root), files))
        link_slurm_binaries(root) if image.prefix else dress_root(root)
    facts = {
        "image": image.name,
        "slurm_version": _slurm_version(versions),
        "packages": versions,
        "recipe": RECIPE,
    }
    (building / "tree.json").write_text(json.dumps(facts, indent=1))
    building.rename(home)


def _extract(file: Path, root: Path) -> None:
    """tar with --keep-directory-symlink: older packages carry `bin/` as a directory, here it is a link to `usr/bin`."""
    unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(file)], stdout=subprocess.PIPE)
    command = ["tar", "-x", "-f", "-", "-C", str(root), "--keep-directory-symlink", "--warning=no-timestamp"]
    done = subprocess.run(command, stdin=unpack.stdout, capture_output=True, text=True, check=False)
    if unpack.wait() or done.returncode:
        raise Unavailable(
            f"Could not unpack {file.name}: {done.stderr.strip()[-300:]}",
            f"Remove {file} and try again; it may be incomplete.",
        )


def _remove_leftovers(trees: Path) -> None:
    """What a killed builder left. Safe: only the holder of the lock is here."""
    for path in trees.glob(".building-*"):
        shutil.rmtree(path, ignore_errors=True)


def _check_disk(cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    free_mib = shutil.disk_usage(cache).free // 2**20
    if free_mib < NEEDED_MIB:
        raise Unavailable(
            f"Only {free_mib} MiB are free in {cache}; a root tree needs about {NEEDED_MIB} MiB.",
            "Free some space, or point XDG_CACHE_HOME to a larger disk.",
        )


@contextmanager
def _build_lock(cache: Path, say: Say) -> Iterator[None]:
    """One builder at a time a cache; the kernel drops the lock when its holder dies."""
    (cache / "trees").mkdir(parents=True, exist_ok=True)
    with (cache / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting until another cluster has fetched its packages.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest(image: Image, versions: dict[str, str]) -> str:
    lines = [f"{name}={version}" for name, version in sorted(versions.items())]
    return hashlib.sha256("\n".join([image.suite or "host", RECIPE, *lines]).encode()).hexdigest()[:12]


def _label(image: Image) -> str:
    """The recipe is part of the name: a new recipe never takes an old tree for its own."""
    return f"{image.name}-r{RECIPE}"


def _slurm_version(versions: dict[str, str]) -> str:
    match = re.match(r"(?:\d+:)?(\d+\.\d+[.\d]*)", versions["slurmctld"])
    return match[1] if match else versions["slurmctld"]


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)
