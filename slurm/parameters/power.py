"""Power saving, and keys that Slurm dropped. A table; see `slurm.parameters.model` for its notation."""

from slurm.parameters.model import Owner, owned, row, themed
from slurm.parameters.reasons import PROGRAMS

POWER = themed(
    "Power saving",
    row("u32", "SuspendTime", "Seconds after which an idle node is put to sleep; INFINITE or -1 never.",
        "INFINITE", unit="s", words="NONE -1", needs="SuspendProgram"),
    row("u16", "SuspendRate", "How many nodes a minute are put to sleep; 0 sets no limit.", "60",
        unit="nodes/min", needs="SuspendProgram"),
    row("u16", "SuspendTimeout", "How long a node may take to fall asleep.", "30", unit="s",
        needs="SuspendProgram"),
    row("u16", "ResumeRate", "How many nodes a minute are woken; 0 sets no limit.", "300", unit="nodes/min",
        needs="ResumeProgram"),
    row("u16", "ResumeTimeout", "How long a node may take to wake up before it counts as down.", "60",
        unit="s"),
    row("list", "SuspendExcNodes", "Nodes that never sleep, such as slinky-[0-3] or slinky-[0-9]:4.", "",
        needs="SuspendProgram"),
    row("list", "SuspendExcParts", "Partitions whose nodes never sleep.", "", needs="SuspendProgram"),
    row("choices", "SuspendExcStates", "States in which a node is not put to sleep.", "", since="23.02",
        needs="SuspendProgram",
        words="CLOUD DOWN DRAIN DYNAMIC_FUTURE DYNAMIC_NORM FAIL INVALID_REG MAINTENANCE NOT_RESPONDING "
        "PERFCTRS PLANNED RESERVED"),
    row("list", "PowerParameters", "Options of power capping.", "", until="23.11"),
    row("choice", "PowerPlugin", "The plugin for power capping.", "", words="power/none power/cray_aries",
        until="23.11", restart="23.02"),
    *owned(
        Owner.OPERATOR,
        PROGRAMS,
        row("path", "SuspendProgram", "Run to put nodes to sleep.", ""),
        row("path", "ResumeProgram", "Run to wake nodes.", ""),
        row("path", "ResumeFailProgram", "Run when nodes did not wake in time.", "", needs="ResumeProgram"),
    ),
)  # fmt: skip

REMOVED = themed(
    "Removed",
    row("text", "AccountingStorageLoc", "The name of the accounting database, once set here.", "",
        until="20.11"),
    row("bool", "AccountingStoreJobComment", "Now job_comment in AccountingStoreFlags.", "", until="20.11",
        instead="AccountingStoreFlags"),
    row("u16", "FastSchedule", "Now config_overrides in SlurmdParameters.", "", until="19.05"),
    row("text", "SallocDefaultCommand", "Now use_interactive_step in LaunchParameters.", "", until="20.02",
        instead="LaunchParameters"),
)  # fmt: skip

ROWS = POWER + REMOVED
