"""How jobs are ordered and which ones give way. A table; see `slurm.parameters.model` for its notation."""

from slurm.parameters.model import row, themed
from slurm.parameters.patterns import WEIGHTS

_MULTIFACTOR = "PriorityType=priority/multifactor"

PRIORITY = themed(
    "Priority",
    row("choice", "PriorityType",
        "How a job's priority is made: by age of submission alone, or from weighted factors.",
        "priority/basic@..23.02 priority/multifactor@23.11..", words="priority/basic priority/multifactor",
        restart="23.02"),
    row("u32", "PriorityWeightAge", "Weight of how long a job has waited.", "0", needs=_MULTIFACTOR),
    row("u32", "PriorityWeightAssoc", "Weight of the priority set on a user's or account's association.",
        "0", needs=_MULTIFACTOR),
    row("u32", "PriorityWeightFairshare", "Weight of how much of its fair share an account has used.", "0",
        needs=_MULTIFACTOR),
    row("u32", "PriorityWeightJobSize", "Weight of how large a job is.", "0", needs=_MULTIFACTOR),
    row("u32", "PriorityWeightPartition", "Weight of the partition's PriorityJobFactor.", "0",
        needs=_MULTIFACTOR),
    row("u32", "PriorityWeightQOS", "Weight of the priority of the job's QOS.", "0", needs=_MULTIFACTOR),
    row("list", "PriorityWeightTRES", "Weights of the resources asked for, such as CPU=1000,GRES/gpu=3000.",
        "", needs=_MULTIFACTOR, pattern=WEIGHTS),
    row("duration", "PriorityCalcPeriod", "How often used time is counted again and made to fade.", "5",
        low=1, needs=_MULTIFACTOR),
    row("duration", "PriorityDecayHalfLife",
        "After this long, past use counts half. 0 never fades and wants a PriorityUsageResetPeriod.", "7-0",
        needs=_MULTIFACTOR),
    row("bool", "PriorityFavorSmall", "Prefer small jobs where size counts, instead of large ones.", "NO",
        needs=_MULTIFACTOR),
    row("choices", "PriorityFlags", "Variations of how the factors are counted.", "", needs=_MULTIFACTOR,
        words="ACCRUE_ALWAYS CALCULATE_RUNNING DEPTH_OBLIVIOUS FAIR_TREE NO_FAIR_TREE INCR_ONLY MAX_TRES "
        "MAX_TRES_GRES@25.05.. NO_NORMAL_ALL NO_NORMAL_ASSOC NO_NORMAL_PART NO_NORMAL_QOS NO_NORMAL_TRES "
        "SMALL_RELATIVE_TO_TIME"),
    row("duration", "PriorityMaxAge", "A job that waited this long has the full age factor.", "7-0",
        needs=_MULTIFACTOR),
    row("text", "PriorityParameters", "Text handed to the priority plugin.", ""),
    row("choice", "PrioritySiteFactorPlugin", "A plugin of the site's own that adds a factor.", "",
        words="site_factor/none site_factor/example@23.11..", is_open=True, restart="23.02"),
    row("text", "PrioritySiteFactorParameters", "Text handed to the site factor plugin.", "",
        needs="PrioritySiteFactorPlugin"),
    row("choice", "PriorityUsageResetPeriod", "When used time is set back to nothing.", "NONE",
        words="NONE NOW DAILY WEEKLY MONTHLY QUARTERLY YEARLY", needs=_MULTIFACTOR),
    row("u16", "FairShareDampeningFactor",
        "How gently going beyond the fair share is punished; more tells heavy users better apart.", "1",
        low=1),
)  # fmt: skip

PREEMPTION = themed(
    "Preemption",
    row("choice", "PreemptType", "Which jobs may be pushed aside: by partition tier or by QOS.", "",
        words="preempt/none preempt/partition_prio preempt/qos", restart="23.02"),
    row("choices", "PreemptMode", "What happens to a job that is pushed aside; GANG lets jobs take turns.",
        "OFF", words="OFF CANCEL GANG REQUEUE SUSPEND WITHIN PRIORITY@25.05.. ON CLUSTER"),
    row("duration", "PreemptExemptTime", "A job may run at least this long before it can be pushed aside.",
        "0", needs="PreemptType"),
    row("options", "PreemptParameters", "Variations of which jobs are chosen to give way.", "",
        since="23.02", needs="PreemptType",
        words="min_exempt_priority=# reclaim_licenses reorder_count=1.. send_user_signal strict_order "
        "suspend_grace_time=# youngest_first"),
    row("u16", "SchedulerTimeSlice", "How long each job runs at a stretch when jobs take turns.", "30",
        unit="s", low=5, high=65_533, needs="PreemptMode=GANG"),
)  # fmt: skip

ROWS = PRIORITY + PREEMPTION
