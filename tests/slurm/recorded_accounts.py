"""Answers that 24.11 gave about its accounts, for pages and the API without a cluster."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from clusters.provisioner import Completed
from console.errors import Unavailable
from slurm.outputs.accounts import ASSOCIATION_COLUMNS, USER_COLUMNS
from tests.slurm.test_accounts_outputs import recorded, row

CONFIG = (
    "ClusterName = 2411\nAccountingStorageType = {kind}\nAccountingStorageEnforce = {enforce}\n"
    "PriorityWeightFairShare = 10000\n"
)


@dataclass
class Recorded:
    """Answers what 24.11 answered, and keeps what it was told to do. `no` is what sacctmgr says to that, `down` what it
    says to all."""

    kind: str = "accounting_storage/slurmdbd"
    enforce: str = "limits,qos"
    no: str = ""
    silent: bool = False
    down: str = ""
    users: int = 0
    groups: tuple[str, ...] = ()
    told: list[list[str]] = field(default_factory=list)

    def run_each(self, commands: Sequence[Sequence[str]], *, timeout_s: float = 4.0) -> tuple[Completed, ...]:
        return tuple(self.run(command, timeout_s=timeout_s) for command in commands)

    def run(self, argv: Sequence[str], *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        if argv[:2] == ["sacctmgr", "dump"]:
            return Completed(0, recorded("24.11", "dump.cfg"), "")
        if self.silent:
            raise Unavailable("scontrol did not answer within 4 s.")
        if argv[0] == "sacctmgr" and self.down:
            return Completed(1, b"", self.down)
        words = " ".join(argv)
        if words == "scontrol show config":
            return Completed(0, CONFIG.format(kind=self.kind, enforce=self.enforce).encode(), "")
        if words.startswith("sacctmgr -n show"):
            raw = recorded("24.11", f"{'own_' if 'wopl' in argv else ''}{argv[3]}.bin")
            return Completed(0, raw + self._more(argv[3]), "")
        if words.startswith("sacctmgr -i"):
            self.told.append(list(argv))
            return Completed(1, self.no.encode(), "") if self.no else Completed(0, b" Adding\n", "")
        if argv[:2] == ["getent", "group"]:
            there = [name for name in argv[2:] if name in self.groups]
            said = "".join(f"{name}:x:10:\n" for name in there).encode()
            return Completed(0 if len(there) == len(argv) - 2 else 2, said, "")
        if argv[0] == "sprio":
            field, record = (f"<{mark}>" for mark in re.findall(r"<(\w+)>", argv[-1])[-2:])
            raw = recorded("24.11", "priorities.bin").replace(b"<aaaaaaaa>", field.encode())
            return Completed(0, raw.replace(b"<bbbbbbbb>", record.encode()), "")
        if argv[0] == "sshare":
            return Completed(0, recorded("24.11", "shares.bin"), "")
        return Completed(0, {"id": b"root\n", "scontrol": b"QOS Records\n"}.get(argv[0], b""), "")

    def _more(self, kind: str) -> bytes:
        """`users` people in the account allset."""
        names = [f"u{n:04}" for n in range(self.users)]
        if kind == "users":
            return b"".join(row(USER_COLUMNS, User=name, DefaultAccount="allset") for name in names)
        if kind == "associations":
            return b"".join(row(ASSOCIATION_COLUMNS, Account="allset", User=name) for name in names)
        return b""
