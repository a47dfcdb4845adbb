"""What is logged, where, and how healthy nodes are told from sick ones. A table; see `slurm.parameters.model`."""

from slurm.parameters.model import Owner, owned, row, themed
from slurm.parameters.reasons import FILES, PROGRAMS

_LEVELS = "quiet fatal error info verbose debug debug2 debug3 debug4 debug5 0 1 2 3 4 5 6 7 8 9"
_FLAGS = (
    "Accrue Agent AuditRPCs@23.02.. AuditTLS@25.11.. Backfill BackfillMap BurstBuffer Cgroup ConMgr@23.11.. "
    "CPU_Bind CpuFrequency Data DBD_Agent@24.05.. Dependency Elasticsearch Energy ExtSensors@..23.02 "
    "Federation FrontEnd@..24.11 Gres Hetjob Gang Interconnect GLOB_SILENCE@23.11.. JobAccountGather "
    "JobComp@23.02.. JobContainer@..25.05 JAG License Metrics@25.11.. MPI Net NetRaw Namespace@25.11.. "
    "Network NetworkRaw NodeFeatures NO_CONF_HASH Power PowerSave Priority Profile Protocol Reservation "
    "Route Sack@23.11.. Script SelectType Steps Switch thread@26.05.. TLS@24.05.. TimeCray@..23.11 TraceJobs "
    "Trigger Triggers WorkQ@..24.05 WorkQueue@..23.11"
)

LOGGING = themed(
    "Logging",
    row("choices", "DebugFlags", "Subsystems that write more into the logs.", "", words=_FLAGS),
    row("choices", "LogTimeFormat", "How times look in the logs.", "iso8601_ms",
        words="iso8601 iso8601_ms rfc5424 rfc5424_ms rfc3339 clock short thread_id format_stderr@23.11.."),
    row("choice", "SlurmctldDebug", "How much the controller writes into its log.", "info", words=_LEVELS),
    row("choice", "SlurmctldSyslogDebug", "How much the controller sends to the system's log.", "",
        words=_LEVELS),
    row("choice", "SlurmdDebug", "How much the nodes write into their logs.", "info", words=_LEVELS),
    row("choice", "SlurmdSyslogDebug", "How much the nodes send to the system's log.", "", words=_LEVELS),
    row("u16", "SlurmSchedLogLevel", "1 writes every scheduling decision into SlurmSchedLogFile.", "0",
        high=1, needs="SlurmSchedLogFile"),
    *owned(
        Owner.OPERATOR,
        FILES,
        row("path", "SlurmctldLogFile", "The controller's log.", ""),
        row("path", "SlurmdLogFile", "The log of each node; %n and %h stand for its name and host.", ""),
        row("path", "SlurmSchedLogFile", "The log of scheduling decisions.", ""),
    ),
)  # fmt: skip

HEALTH = themed(
    "Health",
    row("u16", "HealthCheckInterval", "Time between two health checks of a node; 0 makes none.", "0",
        unit="s", needs="HealthCheckProgram"),
    row("choices", "HealthCheckNodeState",
        "Nodes in which of these states are checked; CYCLE spreads the checks over the interval.", "ANY",
        words="ALLOC ANY CYCLE IDLE MIXED NONDRAINED_IDLE@23.11.. START_ONLY@26.05.. REBOOT_ONLY@26.05.."),
    row("u16", "HealthCheckTimeout", "How long one health check may take; less than the interval.", "60",
        unit="s", low=1, since="26.05"),
    row("u16", "ReturnToService",
        "When a down node comes back by itself: 0 never, 1 if it was silent, 2 whenever it registers well.",
        "0", high=2),
    row("text", "UnkillableStepProgram", "Run on a node whose step cannot be killed.", "",
        owner=Owner.OPERATOR, reason=PROGRAMS),
    row("path", "HealthCheckProgram", "Run on every node each interval to see whether it is fit for jobs.",
        "", owner=Owner.OPERATOR, reason=PROGRAMS),
)  # fmt: skip

ROWS = LOGGING + HEALTH
