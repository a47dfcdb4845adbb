"""Assemble and enter a cluster's root: tree below, the cluster's own directories above, then pivot into it.

Runs in the child that the keeper forks inside new namespaces; standard library only. After `enter_room` nothing
of the host's files is reachable. Two forms: an *overlay* (the cluster may write anywhere, the shared tree stays as
it is), and where the kernel or the file system refuses that, the *plain* form: `/usr` bound from the tree, `/etc`
and `/var` copied.
"""

import contextlib
import json
import os
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slurm.provisioners.sandbox import linux
from slurm.provisioners.sandbox.apart import Way, way
from slurm.provisioners.sandbox.machine import MEMORY

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# Of files that not everybody reads.
MODES = {"/etc/shadow": 0o600, "/etc/sudoers": 0o440}
TOP_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
KERNEL_SWITCHES = ("sys", "sysrq-trigger", "irq", "bus")
EMPTY_DIRECTORIES = ("dev", "proc", "sys", "run", "tmp", "root", "home", "mnt", "opt", "srv")


@dataclass(frozen=True)
class Room:
    """What a cluster's root is made of, as stored in `keeper/room.json`.

    `binds` are (source, target, owner) with sources relative to the cluster directory or absolute, targets inside;
    `owner` is (uid, gid) inside, to give a new source directory where there is a root, else ignored. `files` are
    written inside at every start and whenever the keeper rereads. `run_directories` are made below /run with their
    owner. `usr` is where the programs are that commands shall find, inside; empty for the tree's own.
    """

    tree: str
    hostname: str
    binds: tuple[tuple[str, str, tuple[int, int]], ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    run_directories: dict[str, tuple[int, int]] = field(default_factory=dict)
    gpu_files: int = 0
    plain: bool = False
    usr: str = ""


def room_from(text: str) -> Room:
    """The inverse of `room_text`."""
    facts: dict[str, Any] = json.loads(text)
    facts["binds"] = tuple((source, target, tuple(owner)) for source, target, owner in facts["binds"])
    facts["run_directories"] = {name: tuple(owner) for name, owner in facts["run_directories"].items()}
    return Room(**facts)


def room_text(room: Room) -> str:
    return json.dumps(room.__dict__, indent=1)


def enter_room(room: Room, home: Path) -> str:
    """Mount everything below `home/mnt` and make it this process's root; returns "overlay" or "plain".

    Needs CAP_SYS_ADMIN over its own mount namespace (root, or a fresh user namespace) and to be PID 1 of its pid
    namespace. Raises OSError saying which mount was refused.
    """
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    root = home / "mnt"
    root.mkdir(exist_ok=True)
    form = _mount_root(room, home, root)
    _mount_devices(root, room.gpu_files)
    linux.mount("proc", str(root / "proc"), "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    _show_kernel(root)
    linux.mount("tmpfs", str(root / "run"), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755")
    for name, owner in room.run_directories.items():
        _make_directory(root / "run" / name, owner)
    memory = root / MEMORY.lstrip("/")
    memory.mkdir()
    linux.mount("tmpfs", str(memory), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=700")
    for source, target, owner in room.binds:
        _bind_directory(home / source, root / target.lstrip("/"), owner)
    for name, text in room.files.items():
        write_inside(root, name, text)
    linux.become_root_of(str(root))
    return form


def _show_kernel(root: Path) -> None:
    """/sys, which slurmd reads; and where a root inside is this machine's root, nothing of the kernel to write to."""
    if way() is not Way.ROOT:
        linux.bind("/sys", str(root / "sys"))
        return
    linux.bind_read_only("/sys", str(root / "sys"))
    for name in KERNEL_SWITCHES:
        path = str(root / "proc" / name)
        if os.path.exists(path):
            linux.bind_read_only(path, path)


def write_inside(root: Path, name: str, text: str) -> None:
    """Replace a file of the cluster's own root: whoever looks somebody up meanwhile finds the old one or the new."""
    path = root / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODES.get(name, 0o644))
    with os.fdopen(handle, "w") as file:
        file.write(text)
    fresh.replace(path)


def _mount_root(room: Room, home: Path, root: Path) -> str:
    if not room.plain:
        try:
            _mount_overlay(room.tree, home, root)
            return "overlay"
        except OSError:
            pass
    _mount_plain(Path(room.tree), home, root)
    return "plain"


def _mount_overlay(tree: str, home: Path, root: Path) -> None:
    upper, work = home / "upper", home / "work"
    for directory in (upper, work):
        directory.mkdir(exist_ok=True)
    layers = {"lowerdir": tree, "upperdir": str(upper), "workdir": str(work)}
    options = ",".join(f"{name}={_escape(path)}" for name, path in layers.items())
    # Ordinary users may not set trusted.* attributes; the kernel keeps its marks in user.* instead.
    options += "" if way() is Way.ROOT else ",userxattr"
    linux.mount("overlay", str(root), "overlay", 0, options)
    # Fails here and not at a daemon's first write where the upper file system cannot hold an overlay.
    (root / ".probe").write_text("")
    (root / ".probe").unlink()


def _escape(path: str) -> str:
    """Commas end an option, colons a lower layer (kernel documentation, overlayfs)."""
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _mount_plain(tree: Path, home: Path, root: Path) -> None:
    own = home / "own"
    if not own.is_dir():
        building = home / ".own"
        shutil.rmtree(building, ignore_errors=True)
        for name in ("etc", "var"):
            shutil.copytree(tree / name, building / name, symlinks=True)
        for name, target in TOP_LINKS.items():
            (building / name).symlink_to(target)
        for name in (*EMPTY_DIRECTORIES, "usr"):
            (building / name).mkdir()
        building.rename(own)
    linux.bind(str(own), str(root))
    linux.bind(str(tree / "usr"), str(root / "usr"))


def _mount_devices(root: Path, gpu_files: int) -> None:
    """A small /dev of our own: real null, zero and random, own ptys and shared memory, declared GPUs.

    Slurm only asks whether a GPU's file is a character device (gres.conf(5) File), so /dev/null can stand for it,
    which works without root and cannot be opened into anything.
    """
    dev = root / "dev"
    linux.mount("tmpfs", str(dev), "tmpfs", linux.MS_NOSUID, "mode=755")
    sources = {name: f"/dev/{name}" for name in DEVICES}
    sources |= {f"nvidia{index}": "/dev/null" for index in range(gpu_files)}
    for name, source in sources.items():
        (dev / name).touch()
        linux.bind(source, str(dev / name))
    for name in ("pts", "shm"):
        (dev / name).mkdir()
    group = ",gid=5" if way().has_root else ""
    linux.mount(
        "devpts",
        str(dev / "pts"),
        "devpts",
        linux.MS_NOSUID | linux.MS_NOEXEC,
        f"newinstance,ptmxmode=0666,mode=620{group}",
    )
    linux.mount("tmpfs", str(dev / "shm"), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    for name, target in links.items():
        (dev / name).symlink_to(target)


def _bind_directory(source: Path, target: Path, owner: tuple[int, int]) -> None:
    if not source.exists():
        _make_directory(source, owner)
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.touch()
    linux.bind(str(source), str(target))


def _make_directory(path: Path, owner: tuple[int, int]) -> None:
    path.mkdir(parents=True, exist_ok=True)
    if way().has_root:
        os.chown(path, *owner)


def empty_directory(path: Path) -> None:
    """Remove what a restart of the machine would remove from /tmp. Never follows links."""
    for entry in path.iterdir() if path.is_dir() else ():
        with contextlib.suppress(OSError):
            shutil.rmtree(entry) if stat.S_ISDIR(entry.lstat().st_mode) else entry.unlink()


def remove_directory(path: Path) -> None:
    """Remove a tree of files; an overlay leaves a directory in it that nobody may read, not even its owner."""

    def open_up(function: object, name: str, _error: object) -> None:
        assert callable(function)
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(name), 0o700)
            os.chmod(name, 0o700)
        with contextlib.suppress(OSError):
            shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.unlink(name)

    if path.is_symlink() or not path.exists():
        return
    shutil.rmtree(path, onerror=open_up)
