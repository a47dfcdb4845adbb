"""The daemons: where they run, how they talk, what they keep. A table; see `slurm.parameters.model`."""

from slurm.parameters.model import Owner, owned, row, themed
from slurm.parameters.patterns import CLUSTER, PORTS
from slurm.parameters.reasons import ACCESS, FILES, IDENTITY, MERGED_CONTROLLER, NETWORK, PROGRAMS, RESOURCES

_CONMGR = (
    "conmgr_connect_timeout=#@24.11.. conmgr_max_connections=#@24.11.. conmgr_quiesce_timeout=#@25.05.. "
    "conmgr_read_timeout=#@24.11.. conmgr_threads=#@24.11.. conmgr_use_poll@24.11.. "
    "conmgr_wait_write_delay=#@24.11.. conmgr_write_timeout=#@24.11.."
)
_CONTROLLER = (
    "allow_user_triggers cloud_dns cloud_reg_addrs disable_triggers@23.11.. enable_async_reply@25.11.. "
    "enable_configless enable_expedited_requeue@25.11.. enable_rpc_queue enable_stepmgr@24.05.. "
    "health_check_report@26.05.. idle_on_node_suspend max_dbd_msg_action=discard|exit "
    "max_powered_nodes=#@24.05.. no_quick_restart@23.11.. node_reg_mem_percent=* power_save_interval=# "
    "power_save_min_interval=# preempt_send_user_signal reboot_from_controller reconfig_on_restart@25.11.. "
    "rl_bucket_size=#@23.02.. rl_enable@23.02.. rl_log_freq=#@23.11.. rl_refill_period=#@23.02.. "
    "rl_refill_rate=#@23.02.. rl_table_size=#@23.02.. user_resv_delete "
    "validate_nodeaddr_threads=1..64@23.02.. "
) + _CONMGR
_NODE = (
    "allow_ecores@23.02.. config_overrides contain_spank@24.05.. l3cache_as_socket numa_node_as_socket "
    "shutdown_on_reboot "
) + _CONMGR
_COMMUNICATION = (
    "block_null_hash block_zero_hash CheckGhalQuiesce@..23.11 disable_http@25.11.. DisableIPv4 EnableIPv6 "
    "getnameinfo_cache_timeout=#@23.02.. host_unreach_retry_count=#@25.05.. keepaliveinterval=# "
    "keepaliveprobes=# keepalivetime=# NoAddrCache@..23.11 NoCtldInAddrAny NoInAddrAny"
)

IDENTITY_ROWS = themed(
    "Cluster",
    *owned(
        Owner.OPERATOR,
        IDENTITY,
        row("text", "ClusterName",
            "The cluster's name, also in accounting; lower case, at most 40 characters.", "",
            restart="always", pattern=CLUSTER),
        row("hosts", "SlurmctldHost",
            "Where the controller runs; one line for each, the first is in charge.", "", restart="23.02",
            repeats=True),
        row("hosts", "SlurmctldAddr", "An address that moves to whichever controller is in charge.", ""),
        row("hosts", "ControlMachine", "The former name of SlurmctldHost.", "", instead="SlurmctldHost",
            restart="23.02"),
        row("hosts", "ControlAddr", "The former way to give the controller's address.", "",
            instead="SlurmctldHost", restart="23.02"),
        row("hosts", "BackupController", "The former way to name a standby controller.", "",
            instead="SlurmctldHost", restart="23.02"),
        row("hosts", "BackupAddr", "The former way to give a standby controller's address.", "",
            instead="SlurmctldHost", restart="23.02"),
        row("text", "SlurmUser", "The account of the controller.", "root", restart="always"),
        row("text", "SlurmdUser", "The account of the nodes' daemons.", "root", restart="always"),
    ),
)  # fmt: skip

NETWORK_ROWS = themed(
    "Network",
    row("options", "CommunicationParameters", "How the daemons open and keep connections.", "",
        words=_COMMUNICATION),
    row("choice", "HttpParserType", "The plugin that reads HTTP.", "",
        words="http_parser/libhttp_parser http_parser/llhttp_parser@26.05..", since="25.11"),
    row("choice", "UrlParserType", "The plugin that reads web addresses.", "",
        words="url_parser/libhttp_parser url_parser/internal@26.05..", since="25.11"),
    row("choice", "MetricsType", "The plugin that answers with metrics on the controller's port.", "",
        words="metrics/openmetrics", since="25.11"),
    row("options", "MetricsParameters", "Options of that plugin.", "", words="ignore_private_data",
        since="26.05", needs="MetricsType"),
    row("options", "DataParserParameters", "The default of --json and --yaml.", "", since="24.11",
        is_open=True),
    *owned(
        Owner.OPERATOR,
        NETWORK,
        row("text", "SlurmctldPort", "The controller's port, or a range of ports.", "6817", restart="always",
            pattern=PORTS),
        row("u32", "SlurmdPort", "The port of the nodes' daemons.", "6818", low=1, high=65_535,
            restart="always"),
    ),
)  # fmt: skip

DAEMONS = themed(
    "Daemons",
    row("choices", "ReconfigFlags", "What a reconfigure leaves as it was changed at run time.", "",
        words="KeepPartInfo KeepPartState KeepPowerSaveSettings@23.02.."),
    *owned(Owner.MERGED, MERGED_CONTROLLER, row("options", "SlurmctldParameters",
                                                "Fine tuning of the controller.", "", words=_CONTROLLER,
                                                restart="23.02")),
    *owned(Owner.OPERATOR, RESOURCES, row("options", "SlurmdParameters",
                                          "Fine tuning of the nodes' daemons.", "", words=_NODE)),
    *owned(
        Owner.OPERATOR,
        FILES,
        row("path", "StateSaveLocation", "Where the controller keeps jobs and nodes over a restart.",
            "/var/spool", restart="23.02"),
        row("path", "SlurmdSpoolDir", "Where a node keeps its state and the scripts of jobs.",
            "/var/spool/slurmd", restart="23.02"),
        row("path", "SlurmctldPidFile", "The controller's process id.", "/var/run/slurmctld.pid"),
        row("path", "SlurmdPidFile", "The process id of a node's daemon.", "/var/run/slurmd.pid"),
    ),
    *owned(
        Owner.OPERATOR,
        PROGRAMS,
        row("path", "PluginDir", "Where plugins are found.", "", restart="23.02"),
        row("path", "PlugStackConfig", "The list of SPANK plugins.", "plugstack.conf"),
        row("path", "RebootProgram", "Run on a node to restart it.", ""),
        row("path", "SlurmctldPrimaryOnProg", "Run when a standby controller takes over.", ""),
        row("path", "SlurmctldPrimaryOffProg", "Run when a controller becomes the standby.", ""),
        row("list", "SlurmctldPlugstack", "Plugins of the controller.", "", until="22.05", restart="23.02"),
    ),
    *owned(Owner.OPERATOR, ACCESS, row("text", "SchedulerAuth", "No longer used.", "", until="21.08")),
)  # fmt: skip

ROWS = IDENTITY_ROWS + NETWORK_ROWS + DAEMONS
