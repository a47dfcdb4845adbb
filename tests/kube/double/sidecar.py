"""How changed files reach a running slurmctld: the kubelet shows them in the pod, the side container rereads them.

v1.2.1 was seen to retry `scontrol reconfigure` every 2 s for ever when it fails and to report nothing: the old
configuration stays in force. When scontrol can read a bad file and slurmctld cannot, slurmctld (which runs with -D)
ends, and its pod crash-loops until the file is good again. Then it is started at once here, without the kubelet's
back-off, so that tests need not wait for it.
"""

import time

from slurm.provisioners.sandbox.layout import write_slurm_files
from slurm.provisioners.sandbox.space import run_inside
from tests.kube.double.room import Room
from tests.kube.double.wanted import Wanted

RETRY_S = 2.0
# A controller that took its file has answered for so long.
STEADY_S = 0.5


class Sidecar:
    """One controller pod's. `look` is called again and again and returns at once but for scontrol's own time."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._shown: dict[str, str] | None = None
        self._seen: tuple[dict[str, str], float] | None = None
        self._unread = False
        self._unshared = False
        self._retry_at = 0.0
        self._read_at = 0.0
        self._pod = ""

    def look(self, wanted: Wanted) -> None:
        now = time.monotonic()
        files = self.room.room_files(wanted)
        if self.room.state() is None or self._shown is None:
            # The room begins with what is wanted.
            self._shown, self._pod = files, wanted.controller
            return
        if files != self._shown and (self._is_new(wanted) or self._is_seen(files, wanted.delay_s, now)):
            self._show(wanted, files)
        if self._unread and wanted.in_place and now >= self._retry_at:
            self._reread(now)
        if self._unshared and not self._unread and now >= self._read_at + STEADY_S and self.room.answers:
            write_slurm_files(self.room.cluster, self._shown, ("clients",))
            self._unshared = False

    def _is_new(self, wanted: Wanted) -> bool:
        """A new pod begins with the files as they are now."""
        before, self._pod = self._pod, wanted.controller or self._pod
        return before != self._pod

    def _is_seen(self, files: dict[str, str], delay_s: float, now: float) -> bool:
        """The kubelet refreshes a mounted ConfigMap some time after the change."""
        if self._seen is None or self._seen[0] != files:
            self._seen = (files, now)
        return now >= self._seen[1] + delay_s

    def _show(self, wanted: Wanted, files: dict[str, str]) -> None:
        write_slurm_files(self.room.cluster, files, ("controller",))
        self.room.show_files(wanted.files)
        self._shown, self._unread, self._unshared, self._retry_at = files, True, True, 0.0
        if not self.room.answers:
            self.room.kick()
            self._unread = False

    def _reread(self, now: float) -> None:
        if not self.room.answers:
            return
        done = run_inside(self.room.home, ["scontrol", "reconfigure"], 10.0)
        self._unread, self._retry_at, self._read_at = done.returncode != 0, now + RETRY_S, now
