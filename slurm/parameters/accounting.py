"""What is counted about jobs and where it is kept. A table; see `slurm.parameters.model` for its notation."""

from slurm.parameters.model import Owner, owned, row, themed
from slurm.parameters.patterns import RESOURCES, SAMPLINGS
from slurm.parameters.reasons import ACCOUNTING, CONTAINMENT, MERGED_TRES, PROGRAMS

_DATABASE = "AccountingStorageType=accounting_storage/slurmdbd"

ACCOUNTING_ROWS = themed(
    "Accounting",
    row("choices", "AccountingStorageEnforce",
        "What a job must have in the database to be accepted: an association, a QOS, room within limits.",
        "", words="all associations limits nojobs nosteps qos safe wckeys 1 2", needs=_DATABASE,
        restart="23.02"),
    row("options", "AccountingStorageParameters", "Options of the link to the database.", "", is_open=True,
        words="max_step_records=#@24.05.. SSL_CERT=* SSL_CA=* SSL_CAPATH=* SSL_KEY=* SSL_CIPHER=*",
        restart="23.02"),
    row("choices", "AccountingStoreFlags", "Which further fields of a job are kept in the database.", "",
        needs=_DATABASE, words="job_comment job_env job_extra@23.02.. job_script no_stdio@24.11.."),
    row("bool", "TrackWCKey", "Count jobs by workload key too.", "NO", needs=_DATABASE),
    *owned(
        Owner.MERGED,
        MERGED_TRES,
        row("list", "AccountingStorageTRES",
            "Further resources to be counted, such as gres/gpu or license/x.", "", pattern=RESOURCES),
    ),
    *owned(
        Owner.OPERATOR,
        ACCOUNTING,
        row("choice", "AccountingStorageType", "Where accounting records go.", "", restart="23.02",
            words="accounting_storage/none accounting_storage/slurmdbd accounting_storage/ctld_relay@24.05.."),
        row("hosts", "AccountingStorageHost", "The host of slurmdbd.", "localhost"),
        row("hosts", "AccountingStorageBackupHost", "The host of a standby slurmdbd.", ""),
        row("list", "AccountingStorageExternalHost", "Other slurmdbds to register with.", ""),
        row("text", "AccountingStoragePass", "The munge socket, or password, of the link to slurmdbd.", ""),
        row("u16", "AccountingStoragePort", "The port of slurmdbd.", "6819", low=1),
        row("text", "AccountingStorageUser", "The database account; no longer used.", "", until="25.05"),
    ),
)  # fmt: skip

GATHERING = themed(
    "Job measuring",
    row("text", "JobAcctGatherFrequency",
        "How often running tasks are measured: seconds, or task=30,energy=60,network=30,filesystem=30.",
        "30", pattern=SAMPLINGS),
    row("choices", "JobAcctGatherParams", "Variations of how memory is measured.", "",
        needs="JobAcctGatherType",
        words="DisableGPUAcct@23.02.. no_file_cache@25.11.. NoShare NoShared OverMemoryKill UsePss"),
    row("u16", "AcctGatherNodeFreq", "How often the use of whole nodes is measured; 0 never.", "0",
        unit="s"),
    row("choices", "AcctGatherEnergyType", "How used energy is measured.", "", restart="23.02",
        words="acct_gather_energy/none acct_gather_energy/gpu acct_gather_energy/ibmaem "
        "acct_gather_energy/ipmi acct_gather_energy/pm_counters acct_gather_energy/rapl "
        "acct_gather_energy/rsmi acct_gather_energy/xcc acct_gather_energy/cray_aries@..22.05"),
    row("choice", "AcctGatherFilesystemType", "How traffic to file systems is measured.", "",
        restart="23.02", words="acct_gather_filesystem/none acct_gather_filesystem/lustre"),
    row("choices", "AcctGatherInterconnectType", "How traffic on the interconnect is measured.", "",
        restart="23.02",
        words="acct_gather_interconnect/none acct_gather_interconnect/ofed acct_gather_interconnect/sysfs"),
    row("choice", "AcctGatherInfinibandType", "The former name of AcctGatherInterconnectType.", "",
        is_open=True, instead="AcctGatherInterconnectType"),
    row("choice", "AcctGatherProfileType", "Where detailed job profiles are written.", "", restart="23.02",
        words="acct_gather_profile/none acct_gather_profile/hdf5 acct_gather_profile/influxdb"),
    row("u16", "ExtSensorsFreq", "How often external sensors were read.", "0", unit="s", until="23.02"),
    row("choice", "ExtSensorsType", "The plugin for external sensors.", "",
        words="ext_sensors/none ext_sensors/rrd", until="23.02"),
    *owned(
        Owner.OPERATOR,
        CONTAINMENT,
        row("choice", "JobAcctGatherType", "How running tasks are measured.", "", restart="23.02",
            words="jobacct_gather/none jobacct_gather/cgroup jobacct_gather/linux"),
    ),
)  # fmt: skip

COMPLETION = themed(
    "Job completion",
    row("choice", "JobCompType", "Where a line about each finished job goes, apart from accounting.", "",
        restart="23.02",
        words="jobcomp/none jobcomp/elasticsearch jobcomp/filetxt jobcomp/kafka@23.02.. jobcomp/lua "
        "jobcomp/mysql jobcomp/script"),
    row("hosts", "JobCompHost", "The host of the job completion database.", "localhost",
        needs="JobCompType"),
    row("options", "JobCompParams", "Options of the job completion plugin.", "", is_open=True,
        needs="JobCompType",
        words="send_script@25.05.. send_comment@26.05.. enable_job_start@25.05.. flush_timeout=#@23.02.. "
        "poll_interval=#@23.02.. requeue_on_msg_timeout@25.05.. topic=*@23.02.. topic_job_start=*@25.05.. "
        "token_duration=#@25.11.."),
    row("text", "JobCompPass",
        "The password of the job completion database. Everyone on the cluster can read this file.", "",
        needs="JobCompType"),
    row("u32", "JobCompPort", "The port of the job completion database.", "0", high=65_535,
        needs="JobCompType"),
    row("text", "JobCompUser", "The account of the job completion database.", "root", needs="JobCompType"),
    *owned(
        Owner.OPERATOR,
        PROGRAMS,
        row("text", "JobCompLoc",
            "The file, server, database or script that takes the lines about finished jobs.", "",
            needs="JobCompType"),
        row("path", "JobCompPassScript", "A script that answers with the database's password.", "",
            since="25.11", needs="JobCompType"),
    ),
)  # fmt: skip

ROWS = ACCOUNTING_ROWS + GATHERING + COMPLETION
