"""A real sshd for these tests: private, on loopback, without root, from a Debian root tree or from this machine.

It runs in mount and pid namespaces of its own, so that it finds its accounts and dies with everything it started.
`SSHD_ROOT` names the root to take it from; otherwise the newest root tree of the sandbox, then this machine.
"""

import os
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from slurm.provisioners.sandbox.images import RECIPE

LOGIN = "mo"
ENTER = (
    'set -e; root=$1; scratch=$2; shift 2; mount --bind "$scratch/etc" "$root/etc"; '
    'mount --bind "$scratch/run" "$root/run"; mount --bind "$scratch" "$root/mnt"; '
    'if [ "$root" != / ]; then mount --rbind /dev "$root/dev"; mount --rbind /proc "$root/proc"; fi; '
    'exec chroot "$root" "$@"'
)


@dataclass
class Sshd:
    """Where it listens and what it shows. `stop` and `start` keep the port."""

    scratch: Path
    port: int
    host_key: str
    user: str = LOGIN
    host: str = "127.0.0.1"
    process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        return self.scratch / "home"

    def start(self) -> None:
        """Blocks until it listens, 10 s at most."""
        root = sshd_root()
        mapped = [] if os.getuid() == 0 else ["-U", "--map-current-user", "--keep-caps"]
        space = ["unshare", *mapped, "-m", "-p", "-f", "--kill-child"]
        inside = ["/usr/sbin/sshd", "-D", "-e", "-f", "/mnt/sshd_config"]
        with (self.scratch / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*space, "/bin/sh", "-c", ENTER, "enter", str(root), str(self.scratch), *inside],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for_port(self.port, self.process, self.scratch / "sshd.log")

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def trust(self, ca: str) -> None:
        """Whose certificates are taken from now on; sshd reads the file for each sign-in."""
        (self.scratch / "ca.pub").write_text(ca + "\n")

    def change_host_key(self) -> None:
        """As if somebody had set up another machine at this address."""
        _write_key(self.scratch / "host_ed25519")


def sshd_root() -> Path:
    """Raises when there is no sshd to test with: these tests never pass without one."""
    named = os.environ.get("SSHD_ROOT")
    roots = [Path(named)] if named else [*_trees(), Path("/")]
    for root in roots:
        if (root / "usr/sbin/sshd").exists():
            return root
    raise RuntimeError(
        f"No sshd in {', '.join(map(str, roots))}. Build the sandbox's root tree first (make run)."
    )


def make_sshd(scratch: Path, ca: str, port: int) -> Sshd:
    """Lay it out below `scratch`, trusting certificates of `ca` only. Not started."""
    for name in ("etc", "run/sshd", "home"):
        (scratch / name).mkdir(parents=True, mode=0o755)
    uid, gid = os.getuid(), os.getgid()
    root = "" if uid == 0 else "root:x:0:0::/root:/bin/bash\n"
    (scratch / "etc/passwd").write_text(
        f"{LOGIN}:x:{uid}:{gid}::/mnt/home:/bin/bash\n{root}sshd:x:103:65534::/run/sshd:/usr/sbin/nologin\n"
        "nobody:x:65534:65534::/:/usr/sbin/nologin\n"
    )
    # Without root there is but one group to give a pty to; without a group `tty` sshd takes the person's own.
    tty = "tty:x:5:\n" if uid == 0 else ""
    (scratch / "etc/group").write_text(f"{LOGIN}:x:{gid}:\nnogroup:x:65534:\n{tty}")
    (scratch / "ca.pub").write_text(ca + "\n")
    host_key = _write_key(scratch / "host_ed25519")
    (scratch / "home/.bashrc").write_text("PS1='ready> '\n")
    (scratch / "home/.inputrc").write_text("set enable-bracketed-paste off\n")
    (scratch / "home/.bash_profile").write_text(". ~/.bashrc\n")
    # Refused sign-ins are tested from one address, which newer servers would shut out (PerSourcePenalties).
    is_new = (sshd_root() / "usr/lib/openssh/sshd-session").exists()
    (scratch / "sshd_config").write_text(
        CONFIG.format(port=port) + ("PerSourcePenalties no\n" if is_new else "")
    )
    return Sshd(scratch, port, host_key)


CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey /mnt/host_ed25519
AuthorizedKeysFile none
TrustedUserCAKeys /mnt/ca.pub
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
PidFile none
UseDNS no
PrintMotd no
PrintLastLog no
AcceptEnv LANG LC_* COLORTERM
Subsystem sftp internal-sftp
MaxStartups 100
LogLevel VERBOSE
"""


def _trees() -> Sequence[Path]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quarterdeck/trees"
    pointers = sorted(cache.glob("*.current"), key=lambda one: (f"-r{RECIPE}." not in one.name, one.name))
    return [cache / pointer.read_text().strip() / "root" for pointer in pointers]


def _write_key(path: Path) -> str:
    key = Ed25519PrivateKey.generate()
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return public.decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"It ended with {process.returncode}: {log.read_text()[-2000:]}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"Nothing listens at {port}: {log.read_text()[-2000:]}")
