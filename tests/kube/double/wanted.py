"""What a room should run: plain data, made by `scene` from what the API holds and read by `room`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Claimed:
    """A claim that a pod has at a path."""

    claim: str
    path: str
    read_only: bool


@dataclass(frozen=True)
class Worker:
    """One worker pod. `conf` is what stands behind `slurmd --conf`, without address and sizes; `uid` the pod's."""

    host: str
    uid: str
    conf: str
    cpus: int
    memory_mib: int
    claims: tuple[Claimed, ...] = ()


@dataclass(frozen=True)
class Login:
    """The login pod. What is mounted by sub-path (`config`, `keys`) counts as it was when the pod began.

    `host_keys` and `files` are by file name and by path; `ports` are those of its Service that sshd must listen on
    besides the room's own.
    """

    uid: str
    config: str
    keys: str
    host_keys: Mapping[str, str]
    files: Mapping[str, str]
    ports: tuple[int, ...] = ()
    claims: tuple[Claimed, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """`controller` and `accounting` are uids of running pods, empty where there is none.

    `files` are those of the controller's pod by name, as the ConfigMaps have them; `gres` stands for its gres.conf.
    `lost` are workers whose machine is gone: nobody runs their preStop. `delay_s` is how long pods do not see changed
    files; `in_place` says that a side container rereads them.
    """

    files: Mapping[str, str]
    gres: str = ""
    controller: str = ""
    accounting: str = ""
    workers: tuple[Worker, ...] = ()
    lost: frozenset[str] = frozenset()
    login: Login | None = None
    in_place: bool = True
    crash: bool = False
    delay_s: float = 0.0
