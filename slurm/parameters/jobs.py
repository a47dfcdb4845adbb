"""How jobs are taken in, started, contained and ended. A table; see `slurm.parameters.model` for its notation."""

from slurm.parameters.model import Owner, owned, row, themed
from slurm.parameters.patterns import ABSOLUTE, CODES, DIRECTORIES, NAME, PORT_RANGE
from slurm.parameters.reasons import CONTAINMENT, LIFE_SCRIPTS, PROGRAMS

_LIMITS = "ALL NONE AS CORE CPU DATA FSIZE MEMLOCK NOFILE NPROC RSS STACK"
_LAUNCH = (
    "batch_step_set_cpu_freq cray_net_exclusive enable_nss_slurm interactive_step_set_cpu_freq@25.11.. "
    "lustre_no_flush mem_sort@..25.05 mpir_use_nodeaddr disable_send_gids send_gids slurmstepd_memlock "
    "slurmstepd_memlock_all srun_exclusive_allocation@26.05.. test_exec use_interactive_step "
    "ulimit_pam_adopt@23.02.."
)

SUBMISSION = themed(
    "Submission",
    row("choices", "JobSubmitPlugins", "Plugins that look at, change or refuse each job as it comes in.", "",
        is_open=True, words="all_partitions defaults logging lua partition pbs require_timelimit throttle "
        "cray_aries@..23.11 job_submit/lua"),
    row("choices", "CliFilterPlugins", "Plugins that look at the options of sbatch, salloc and srun.", "",
        is_open=True,
        words="cli_filter/none@..23.02 cli_filter/lua cli_filter/syslog cli_filter/user_defaults lua syslog "
        "user_defaults"),
    row("options", "CliFilterParameters", "Options of those plugins.", "", words="cli_filter_lua_path=*",
        since="25.11", is_open=True, needs="CliFilterPlugins"),
    row("u16", "JobRequeue", "1 lets batch jobs be requeued unless they say otherwise.", "1", high=1),
    row("list", "RequeueExit", "Exit codes after which a batch job is queued again, such as 1,3-5.", "",
        pattern=CODES),
    row("list", "RequeueExitHold", "Exit codes after which a batch job is queued again and held.", "",
        pattern=CODES),
    row("u16", "JobFileAppend", "1 adds to an existing output file instead of emptying it.", "0", high=1),
    row("bool", "DisableRootJobs", "Refuse jobs of root.", "NO"),
    row("text", "InteractiveStepOptions", "Options of the shell that salloc opens on a node.",
        "--interactive --preserve-env --pty $SHELL", needs="LaunchParameters=use_interactive_step"),
    row("text", "MailDomain", "The domain added to user names when mail is sent.", "", pattern=NAME),
    *owned(Owner.OPERATOR, PROGRAMS, row("path", "MailProg", "The program that sends mail about jobs.",
                                         "/bin/mail")),
)  # fmt: skip

LAUNCH = themed(
    "Job launch",
    row("options", "LaunchParameters", "Variations of how steps are started.", "", words=_LAUNCH),
    row("u16", "KillOnBadExit", "1 ends a step as soon as one task fails.", "0", high=1),
    row("choice", "MpiDefault", "The kind of MPI when srun --mpi is not given.", "", is_open=True,
        words="none pmi2 pmix pmix_v2 pmix_v3 pmix_v4 pmix_v5 cray_shasta openmpi", restart="23.02",
        owner=Owner.OPERATOR, reason=CONTAINMENT),
    row("text", "MpiParams", "Options of the MPI plugin, such as ports=12000-12999.", ""),
    row("choices", "PropagateResourceLimits", "Which limits of the submitting shell a job takes along.",
        "ALL", words=_LIMITS),
    row("choices", "PropagateResourceLimitsExcept", "Which limits a job does not take along.", "",
        words=_LIMITS),
    row("u16", "PropagatePrioProcess",
        "0 starts tasks at normal niceness, 1 at that of the submitting shell, 2 just above the daemon's.",
        "0", high=2),
    row("text", "CpuFreqDef", "The CPU governor or frequency when a job does not say.", ""),
    row("choices", "CpuFreqGovernors", "CPU governors that jobs may ask for.",
        "OnDemand,Performance,UserSpace",
        words="Conservative OnDemand Performance PowerSave SchedUtil UserSpace"),
    row("text", "GpuFreqDef", "The GPU frequency when a job does not say.", "high,memory=high@..22.05"),
    row("text", "SrunPortRange", "Ports that srun may listen on, such as 60001-63000.", "",
        pattern=PORT_RANGE),
    row("choice", "LaunchType", "The plugin that started steps.", "launch/slurm", words="launch/slurm",
        until="22.05", restart="23.02"),
    row("text", "BcastExclude", "Directories whose libraries sbcast leaves out.",
        "/lib,/usr/lib,/lib64,/usr/lib64", pattern=DIRECTORIES),
    row("options", "BcastParameters", "How sbcast sends files.", "",
        words="DestDir=* Compression=lz4|none|zlib send_libs?=yes|no"),
    row("options", "SbcastParameters", "The former name of BcastParameters.", "",
        words="DestDir=* Compression=lz4|none|zlib", instead="BcastParameters"),
    row("options", "X11Parameters", "How X11 windows are passed on.", "", words="home_xauthority"),
    row("path", "TmpFS", "Where jobs find room for temporary files.", "/tmp", pattern=ABSOLUTE),
)  # fmt: skip

CONTAINMENT_ROWS = themed(
    "Containment",
    row("choices", "TaskPluginParam", "How tasks are bound to CPUs.", "", needs="TaskPlugin",
        words="Cores None Sockets Threads SlurmdOffSpec SlurmdSpecOverride@25.05.. OOMKillStep@24.05.. "
        "Verbose Autobind=none|threads|cores|sockets"),
    row("choice", "CoreSpecPlugin", "The plugin that kept cores back for the system.", "",
        words="core_spec/none core_spec/cray_aries", until="23.11", restart="23.02"),
    row("choices", "NodeFeaturesPlugins", "Plugins for node features that change at run time.", "",
        is_open=True, restart="23.02",
        words="node_features/helpers helpers node_features/knl_cray@..23.11 node_features/knl_generic@..25.05"),
    *owned(
        Owner.OPERATOR,
        CONTAINMENT,
        row("choice", "ProctrackType", "How the processes of a step are kept track of.", "proctrack/cgroup",
            restart="23.02",
            words="proctrack/cgroup proctrack/linuxproc proctrack/pgid proctrack/cray_aries@..23.11"),
        row("choices", "TaskPlugin", "How tasks are bound to and kept within their resources.", "",
            restart="23.02",
            words="task/none task/affinity task/cgroup task/cray_aries@..23.11 affinity cgroup none"),
        row("choice", "JobContainerType", "The former name of NamespaceType.", "", restart="23.02",
            instead="NamespaceType",
            words="job_container/none job_container/tmpfs job_container/cncu@..23.11 "
            "namespace/tmpfs@25.11.. namespace/linux@25.11.."),
        row("choice", "NamespaceType", "Give each job file systems and processes of its own.", "",
            since="25.11", needs="PrologFlags=Contain",
            words="namespace/none namespace/linux namespace/tmpfs job_container/tmpfs"),
    ),
)  # fmt: skip

SCRIPTS = themed(
    "Prolog and epilog",
    row("choices", "PrologFlags", "When the prolog runs and what happens around it.", "",
        words="Alloc Contain DeferBatch NoHold ForceRequeueOnFail@24.05.. RunInJob@24.05.. Serial X11"),
    row("path", "TaskProlog", "Run as the job's user before each task.", ""),
    row("path", "TaskEpilog", "Run as the job's user after each task.", ""),
    row("text", "SrunProlog", "Run by srun, as the user, before a step.", ""),
    row("text", "SrunEpilog", "Run by srun, as the user, after a step.", ""),
    row("choice", "PrEpPlugins", "Plugins that run prologs and epilogs.", "prep/script", words="prep/script",
        is_open=True, restart="23.02"),
    row("text", "PrEpParameters", "Text handed to those plugins.", ""),
    *owned(
        Owner.OPERATOR,
        LIFE_SCRIPTS,
        row("path", "Prolog", "Run as root on a node before a job's first step there.", "", repeats=True),
        row("path", "Epilog", "Run as root on every node of a job after its end.", "", repeats=True),
        row("path", "PrologSlurmctld", "Run beside the controller before a job gets its nodes.", "",
            repeats=True),
        row("path", "EpilogSlurmctld", "Run beside the controller after a job's end.", "", repeats=True),
        row("path", "ResvProlog", "Run beside the controller when a reservation begins.", ""),
        row("path", "ResvEpilog", "Run beside the controller when a reservation ends.", ""),
    ),
)  # fmt: skip

ROWS = SUBMISSION + LAUNCH + CONTAINMENT_ROWS + SCRIPTS
