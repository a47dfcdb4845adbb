"""Which job starts where and when. A table; see `slurm.parameters.model` for its notation."""

from slurm.parameters.model import Owner, owned, row, themed
from slurm.parameters.patterns import LICENSES, NAMES
from slurm.parameters.reasons import RESOURCES

_SCHEDULER = (
    "allow_zero_lic assoc_limit_stop batch_sched_delay=# bb_array_stage_cnt=# bf_allow_magnetic_slot@24.11.. "
    "bf_busy_nodes bf_continue bf_hetjob_immediate bf_hetjob_prio=min|avg|max bf_interval=-1..10800 "
    "bf_job_part_count_reserve=0..100000 bf_licenses bf_max_job_array_resv=0..1000 "
    "bf_max_job_assoc=0..1000000 bf_max_job_part=0..1000000 bf_max_job_start=0..10000 "
    "bf_max_job_test=1..1000000 bf_max_job_user=0..1000000 bf_max_job_user_part=0..1000000 "
    "bf_max_time=1..3600 bf_min_age_reserve=0..2592000 bf_min_prio_reserve=1.. bf_node_space_size=2..2000000 "
    "bf_one_resv_per_job bf_resolution=1..3600 bf_running_job_reserve bf_topopt_enable@24.11.. "
    "bf_topopt_iterations=2..@24.11.. bf_window=1..43200 bf_window_linear=0.. bf_yield_interval=1..10000000 "
    "bf_yield_rpc_cnt=0..200@25.05.. bf_yield_rpc_count=0..200@25.05.. bf_yield_sleep=1..10000000 "
    "build_queue_timeout=# correspond_after_task_cnt=# default_queue_depth=# defer defer_batch@23.02.. "
    "delay_boot=* disable_hetero_steps disable_hetjob_steps disable_job_shrink enable_hetjob_steps "
    "enable_job_state_cache@23.11..25.11 enable_user_top extra_constraints@23.11.. "
    "ignore_constraint_validation@24.11.. Ignore_NUMA ignore_prefer_validation jobs_per_user_per_hour=# "
    "max_array_tasks=# max_job_bf=# max_rpc_cnt=0..1000 max_rpc_count=# max_sched_time=# "
    "max_script_size=1..536870912 max_submit_line_size=1..2097152@23.11.. max_switch_wait=# "
    "no_backup_scheduling no_env_cache@..24.11 nohold_on_prolog_fail pack_serial_at_end "
    "partition_job_depth=# permit_job_expansion preempt_reorder_count=1.. preempt_strict_order "
    "preempt_youngest_first reduce_completing_frag requeue_delay=#@25.11.. requeue_on_resume_failure@25.05.. "
    "requeue_setup_env_fail@..24.11 salloc_wait_nodes sbatch_wait_nodes sched_interval=-1.. "
    "sched_max_job_start=# sched_min_interval=# spec_cores_first step_retry_count=# step_retry_time=# "
    "time_min_as_soft_limit@23.11.. whole_hetjob?=min|max|avg whole_pack"
)
_SELECT = (
    "CR_CPU CR_CPU_Memory CR_Core CR_Core_Memory CR_Socket CR_Socket_Memory CR_Memory CR_ONE_TASK_PER_CORE "
    "CR_CORE_DEFAULT_DIST_BLOCK CR_LLN CR_Pack_Nodes CR_NO_DIST_TOPO_BLOCK@26.05.. LL_SHARED_GRES@23.11.. "
    "MULTIPLE_SHARING_GRES_PJ@23.11.. ENFORCE_BINDING_GRES@23.11.. ONE_TASK_PER_SHARING_GRES@23.11.. "
    "OTHER_CONS_RES@..23.02 OTHER_CONS_TRES@..23.02"
)

SCHEDULING = themed(
    "Scheduling",
    row("choice", "SchedulerType",
        "backfill starts small jobs early where they delay nobody; builtin goes strictly by priority.",
        "sched/backfill", words="sched/backfill sched/builtin", restart="23.02"),
    row("options", "SchedulerParameters",
        "Fine tuning of the scheduler. Slurm ignores what it does not know here without a word.", "",
        words=_SCHEDULER, restart="23.02"),
    row("options", "DependencyParameters", "How dependencies between jobs are followed.", "",
        words="disable_remote_singleton kill_invalid_depend max_depend_depth=#"),
    row("options", "FederationParameters", "How commands show a federation of clusters.", "",
        words="fed_display"),
    row("list", "Licenses", "Licenses to be counted, such as matlab:5,ansys:2.", "", pattern=LICENSES),
    row("options", "LicenseParameters", "How licenses are matched.", "", words="RemoteFuzzyMatch",
        since="26.05", is_open=True),
    row("options", "ScronParameters", "Whether users may plan recurring jobs with scrontab.", "",
        words="enable explicit_scancel@23.02.."),
    row("choice", "BurstBufferType", "The plugin that stages data for jobs.", "",
        words="burst_buffer/none burst_buffer/datawarp burst_buffer/lua", restart="23.02"),
    row("text", "BurstBufferParameters", "Text handed to the burst buffer plugin.", "",
        needs="BurstBufferType"),
    row("bool", "AllowSpecResourcesUsage", "Let a job override the cores kept back on a node.", "NO"),
    *owned(
        Owner.OPERATOR,
        RESOURCES,
        row("choice", "SelectType",
            "Whether jobs share nodes by cores, memory and GPUs, or take whole ones.",
            "select/linear@..23.02 select/cons_tres@23.11..",
            words="select/cons_tres select/linear select/cons_res@..23.02 select/cray_aries@..23.11",
            restart="23.02"),
        row("choices", "SelectTypeParameters", "What counts as a resource when nodes are shared.",
            "CR_Core_Memory@23.11..", words=_SELECT, restart="23.02"),
        row("list", "GresTypes", "The kinds of generic resources, such as gpu.", "", restart="23.02",
            pattern=NAMES),
    ),
)  # fmt: skip

TOPOLOGY = themed(
    "Topology",
    row("choice", "TopologyPlugin", "How Slurm knows which nodes are near each other.",
        "topology/none@..23.02 topology/default@23.11..24.11 topology/flat@25.05..", restart="23.02",
        words="topology/tree topology/none topology/default@23.11.. topology/flat@25.05.. "
        "topology/block@23.11.. topology/3d_torus@..24.11 topology/hypercube@..23.02 "
        "topology/ring@26.05.. topology/torus3d@26.05.."),
    row("options", "TopologyParam", "Variations of how the topology is used.", "",
        words="Dragonfly RoutePart@23.11.. RouteTree@23.11.. BlockAsNodeRank@25.11.. "
        "SwitchAsNodeRank@23.02.. TopoMaxSizeUnroll=-1..@24.11.. TopoOptional NoCtldInAddrAny "
        "NoInAddrAny"),
    row("u16", "TreeWidth", "How many nodes each node passes messages on to.", "50@..23.02 16@23.11..",
        low=1, high=65_533),
    row("choice", "RoutePlugin", "How messages travel to the nodes; now RouteTree in TopologyParam.",
        "route/default", words="route/default route/topology", until="23.02", restart="23.02",
        instead="TopologyParam"),
    row("choice", "SwitchType", "The plugin for interconnects that need one.", "", restart="23.02",
        words="switch/none switch/hpe_slingshot switch/nvidia_imex@24.05.. switch/cray_aries@..23.11"),
    row("text", "SwitchParameters", "Text handed to the switch plugin.", "", needs="SwitchType"),
)  # fmt: skip

ROWS = SCHEDULING + TOPOLOGY
