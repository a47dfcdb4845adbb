"""The few Linux calls that Python 3.11 lacks: namespaces, mounts, pivot_root, subreaper, loopback.

Thin: each function is one system call, failing as OSError with what was tried. Standard library only, because the
keeper runs on it. References are to the man pages, section 2.
"""

import ctypes
import fcntl
import os
import platform
import signal
import socket
import struct

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000,
    0x04000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
MS_RELATIME = 1 << 21
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 24, 36
# glibc has no wrapper for it.
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}.get(
    platform.machine(), 0
)
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 1

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """unshare(2). CLONE_NEWPID takes effect for the next child."""
    _checked(_libc.unshare(flags), "unshare")


def unshare_as_user(flags: int) -> None:
    """unshare(2) with a user namespace, keeping one's own ids: the only mapping an ordinary user may write alone."""
    uid, gid = os.getuid(), os.getgid()
    unshare(flags | CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2); all paths as this process sees them now."""
    arguments = (
        os.fsencode(source),
        os.fsencode(target),
        kind.encode(),
        ctypes.c_ulong(flags),
        os.fsencode(options),
    )
    _checked(_libc.mount(*arguments), f"mount {kind or 'bind'} {source} on {target}")


def bind(source: str, target: str, *, recursive: bool = True) -> None:
    """Show a directory or file at a second place."""
    mount(source, target, flags=MS_BIND | (MS_REC if recursive else 0))


def bind_read_only(source: str, target: str) -> None:
    """The same, to look at only; what is mounted further below is not shown. For root: a user namespace may not."""
    bind(source, target, recursive=False)
    mount("none", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)


def restrict(target: str, *, read_only: bool) -> None:
    """No devices and no set-user-id programs below a mount, and nothing to write to where said. What else holds of it
    is kept: in a user namespace a remount may take nothing back (mount_namespaces(7), locked flags)."""
    wanted = MS_NOSUID | MS_NODEV | (MS_RDONLY if read_only else 0)
    mount("none", target, flags=MS_REMOUNT | MS_BIND | _held_flags(target) | wanted)


def make_read_only(target: str) -> None:
    """Nothing to write to below a mount; what else holds of it is kept."""
    mount("none", target, flags=MS_REMOUNT | MS_BIND | _held_flags(target) | MS_RDONLY)


def _held_flags(target: str) -> int:
    held = os.statvfs(target).f_flag
    same = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME | os.ST_RDONLY
    return (held & same) | (MS_RELATIME if held & os.ST_RELATIME else 0)


def unmount(target: str) -> None:
    """Detach a mount now; the kernel frees it when nobody uses it any more."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def become_root_of(directory: str) -> None:
    """Make `directory` (a mount point) the root, and let go of the old one."""
    os.chdir(directory)
    _checked(_libc.syscall(SYS_PIVOT_ROOT, b".", b"."), f"pivot_root {directory}")
    unmount(".")
    os.chdir("/")


def adopt_orphans() -> None:
    """prctl(2) PR_SET_CHILD_SUBREAPER: processes whose parent dies below us become our children."""
    _checked(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl subreaper")


def die_with_parent() -> None:
    """prctl(2) PR_SET_PDEATHSIG: SIGKILL when the parent ends. A later change of user undoes it."""
    _checked(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl death signal")


def bound_capabilities(kept: frozenset[int]) -> None:
    """prctl(2) PR_CAPBSET_DROP: whatever this process executes next, root included, has none but `kept`."""
    number = 0
    # The kernel refuses the first number beyond its last capability.
    while number in kept or _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1


def raise_loopback() -> None:
    """Bring `lo` up in a new network namespace (netdevice(7)), with an address besides 127.0.0.1.

    Without another address glibc's getaddrinfo takes the machine for one without IPv4 and refuses even literal
    addresses (AI_ADDRCONFIG), with which every Slurm daemon asks. 192.0.2.1 is for documentation (RFC 5737).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton("192.0.2.1"))
        fcntl.ioctl(handle, SIOCSIFADDR, struct.pack("16s16s8x", b"lo:0", address))
        for name in (b"lo", b"lo:0"):
            request = struct.pack("16sH22x", name, 0)
            flags = struct.unpack("16sH22x", fcntl.ioctl(handle, SIOCGIFFLAGS, request))[1]
            fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sH22x", name, flags | IFF_UP))


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (proc(5) stat field 22): with the pid it names one for good.

    None when there is no such process or it is only waiting to be reaped.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def set_hostname(name: str) -> None:
    """sethostname(2), in a UTS namespace of one's own."""
    socket.sethostname(name)
