"""The images of the sandbox: which Slurm comes from which Debian suite, and which packages make a tree.

Plain data, imported by anyone. Versions are those of the suites' own packages.
"""

from dataclasses import dataclass
from pathlib import Path

# Raised whenever `dress` or the package list changes what a tree contains: new trees are then made beside the old.
RECIPE = "6"
_SLURM = """
slurmctld slurmd slurmdbd slurm-client slurm-wlm-jwt-plugin munge mariadb-server-core mariadb-client-core
openssh-server openssh-client
"""
_LOGIN_NODE = """
base-files bash coreutils passwd libc-bin sed grep gawk mawk findutils diffutils tar gzip xz-utils hostname procps
util-linux bsdutils debianutils sudo iproute2 perl-base python3 less nano vim-tiny ncurses-base ncurses-bin
rsync
"""


@dataclass(frozen=True)
class Image:
    """`suite` is a Debian suite, or None for the packages of this machine's own release.

    A `prefix` image is only unpacked and used in place, without any namespace: the fallback where the kernel refuses
    them. Its libraries must be those of the machine, so it always has suite None.
    """

    name: str
    suite: str | None
    prefix: bool = False

    @property
    def packages(self) -> list[str]:
        return sorted((_SLURM if self.prefix else _SLURM + _LOGIN_NODE).split())


@dataclass(frozen=True)
class Tree:
    """An unpacked image. `root` is shared by all clusters of the image and never written to."""

    image: Image
    root: Path
    key: str
    slurm_version: str

    @property
    def release(self) -> tuple[int, int]:
        """(24, 11) for `24.11.5`."""
        major, minor, *_ = self.slurm_version.split(".")
        return int(major), int(minor)


DEFAULT_IMAGE = "24.11"
HOST_PREFIX = Image("host", None, prefix=True)
IMAGES: dict[str, Image] = {
    "24.11": Image("24.11", "trixie"),
    "26.05": Image("26.05", "sid"),
    "22.05": Image("22.05", "bookworm"),
    "host": HOST_PREFIX,
}
