"""Everything that was read of a cluster at one moment, and what is to be done about its controller's pod. Pure."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from clusters.spec import ClusterSpec
from slurm.provisioners.slinky.crash import Crash
from slurm.provisioners.slinky.events import Warned, frozen_at
from slurm.provisioners.slinky.pods import annotations
from slurm.provisioners.slinky.running import Running, Silence, our_block
from slurm.provisioners.slinky.scene import Scene
from slurm.provisioners.slinky.sight import is_frozen
from slurm.provisioners.slinky.stages import Stage, Standing

NUDGE = "quarterdeck.dev/slurm-conf"


@dataclass(frozen=True)
class Look:
    """Everything that a verdict goes by.

    `crash` and `log` are how the controller last ended and its last words, if it is down; `heard` is what it was asked,
    or why it could not be. `due` is what an apply would write now, as sentences; `held` is
    what must happen before the rest may be written.
    """

    spec: ClusterSpec
    scene: Scene
    standing: Standing
    stage: Stage
    crash: Crash | None
    log: tuple[str, ...]
    heard: Running | Silence
    warned: tuple[Warned, ...]
    now: datetime
    due: tuple[str, ...] = ()
    held: str = ""

    @property
    def running(self) -> Running | None:
        return self.heard if isinstance(self.heard, Running) else None

    @property
    def told(self) -> tuple[Warned, ...]:
        """The warnings without those of a silent REST service that answers again."""
        is_over = not is_frozen(self.scene, self.warned)
        return tuple(warning for warning in self.warned if not (is_over and frozen_at([warning])))

    @property
    def written(self) -> str:
        """The configuration that was asked for, as it stands in the Controller."""
        return str(self.scene.controller["spec"].get("extraConf") or "") if self.scene.controller else ""


def operator_has_conf(look: Look) -> bool:
    """Whether the operator has written what the Controller asks for into the ConfigMap."""
    data = (look.scene.running_conf or {}).get("data") or {}
    return our_block(str(data.get("slurm.conf", ""))) == our_block(look.written)


def must_renew_controller(look: Look) -> bool:
    """Whether the controller's pod is to be made anew: it hangs in a crash that is not its present file's."""
    return look.crash is not None and not look.crash.by_this_file and operator_has_conf(look)


def must_nudge(look: Look) -> bool:
    """Whether the controller's pod is to be told to fetch its file, once for each: a kubelet looks at the volumes of a
    pod at once when the pod's annotations change, otherwise once a minute or two (kubernetes.io, ConfigMap)."""
    pod = look.scene.controller_pod
    if pod is None or not look.heard.conf or not operator_has_conf(look):
        return False
    is_there = our_block(look.heard.conf) == our_block(look.written)
    return not is_there and annotations(pod).get(NUDGE) != nudge_of(look)


def nudge_of(look: Look) -> str:
    return hashlib.sha256(look.written.encode()).hexdigest()[:16]
