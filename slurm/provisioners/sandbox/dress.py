"""Finish a tree of unpacked packages: what their maintainer scripts would have made, and no more.

Packages are only unpacked (`dpkg-deb --extract`), so alternatives, `/bin/sh`, and the files of `base-files`' scripts
are missing. Nothing here belongs to one cluster: users, hosts and keys are written when a cluster starts. Called by
`tree` on a directory nobody uses yet; safe to run twice.
"""

import subprocess
from pathlib import Path

TOP_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
# First target that exists wins.
LINKS: dict[str, tuple[str, ...]] = {
    "usr/bin/sh": ("bash",),
    "usr/bin/awk": ("mawk", "gawk"),
    "usr/bin/vi": ("vim.tiny", "nano"),
    "usr/bin/vim": ("vim.tiny",),
    "usr/bin/editor": ("nano", "vim.tiny"),
    "usr/bin/pager": ("less",),
    "usr/bin/which": ("which.debianutils",),
}
_DIRECTORIES = """
dev proc sys run tmp root home mnt opt srv var/tmp var/log/slurm var/lib/mysql var/spool/slurmctld var/spool/slurmd
etc/slurm etc/slurm-controller etc/slurm-workers etc/munge etc/ssh/cluster
"""
# Nobody has a password: whom sudoers names needs none, and it refuses all others (pam_permit(8)). The package's own
# `other` includes files that only its maintainer script makes, and without it PAM does not begin.
_KINDS = ("auth", "account", "password", "session")
PAM = {
    "sudo": "".join(f"{kind} required pam_permit.so\n" for kind in _KINDS),
    "sudo-i": "".join(f"{kind} required pam_permit.so\n" for kind in _KINDS),
    "other": "".join(f"{kind} required pam_deny.so\n" for kind in _KINDS),
}
NSSWITCH = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
PROFILE = """\
# Read by login shells.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
export LANG=${LANG:-C.UTF-8} PAGER=less EDITOR=nano LESS=-R
if [ -n "$BASH" ] && [ -f /etc/bash.bashrc ]; then . /etc/bash.bashrc; fi
"""
BASHRC = """\
# Read by interactive shells.
[ -z "$PS1" ] && return
shopt -s checkwinsize histappend
PS1='\\[\\e[1;36m\\]\\u@\\h\\[\\e[0m\\]:\\[\\e[1;34m\\]\\w\\[\\e[0m\\]\\$ '
alias ls='ls --color=auto' ll='ls -l' grep='grep --color=auto'
alias sq='squeue --me' si='sinfo -N -l'
"""


def prepare_root(root: Path) -> None:
    """Make the top-level links before anything is unpacked, so that `/bin` and `/usr/bin` are one."""
    for name, target in TOP_LINKS.items():
        (root / target).mkdir(parents=True, exist_ok=True)
        if not (root / name).is_symlink():
            (root / name).symlink_to(target)


def dress_root(root: Path) -> None:
    """Add links, directories and the few files that make the tree usable. Files are the tree's, not a cluster's."""
    for name in _DIRECTORIES.split():
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
    for name, targets in LINKS.items():
        _link_first(root / name, targets)
    link_slurm_binaries(root)
    _replace_link(root / "var/run", "/run")
    for name, text in {"nsswitch.conf": NSSWITCH, "profile": PROFILE, "bash.bashrc": BASHRC}.items():
        (root / "etc" / name).write_text(text)
    (root / "etc/pam.d").mkdir(exist_ok=True)
    for name, text in PAM.items():
        (root / "etc/pam.d" / name).write_text(text)
    # Faster starts, not needed for correctness: the loader also looks in the default directories.
    subprocess.run(["/sbin/ldconfig", "-r", str(root)], check=False, capture_output=True)


def let_sudo(trees: Path) -> None:
    """Make sudo in all these trees what it is where an ordinary user unpacked them, which tar does without set-user-id
    bits: inside, that user is root. Outside nobody else may reach it then. Idempotent."""
    trees.chmod(0o700)
    for program in trees.glob("*/root/usr/bin/sudo"):
        program.chmod(0o4755)


def link_slurm_binaries(root: Path) -> None:
    """Debian installs `slurmctld-wlm` and makes `slurmctld` an alternative; extraction leaves only the former."""
    for directory in ("usr/sbin", "usr/bin"):
        for real in (root / directory).glob("*-wlm"):
            _replace_link(real.with_name(real.name.removesuffix("-wlm")), real.name)


def _link_first(link: Path, targets: tuple[str, ...]) -> None:
    for target in targets:
        if (link.parent / target).exists() and not link.exists():
            _replace_link(link, target)
            return


def _replace_link(link: Path, target: str) -> None:
    if link.is_symlink():
        link.unlink()
    if not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
