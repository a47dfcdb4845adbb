"""The fields of NodeName, NodeSet, DownNodes, FrontendName and PowerAction lines. A table; see the model's notation.

All of them follow from the cluster's node groups, so all are kept by the platform; the rows serve to explain a line
and to check what the platform itself writes.
"""

from slurm.parameters.model import Owner, owned, row, themed
from slurm.parameters.patterns import NAMES
from slurm.parameters.reasons import NODES, PROGRAMS

_STATES = "CLOUD DOWN DRAIN DRAINED FAIL FAILING FUTURE IDLE UNKNOWN EXTERNAL@25.11.."

NODE = themed(
    "Node",
    *owned(
        Owner.NODE_GROUP,
        NODES,
        row("hosts", "NodeName",
            "The nodes that the line describes, or DEFAULT for what later lines start from."),
        row("hosts", "NodeHostname", "The host's own name where it differs.", ""),
        row("hosts", "NodeAddr", "The address to reach the node at.", ""),
        row("hosts", "BcastAddr", "Another address for files sent with sbcast.", ""),
        row("u16", "Boards", "Boards in a node.", "1", low=1),
        row("u16", "CoreSpecCount", "Cores kept back for the system.", "", low=1),
        row("u16", "CoresPerSocket", "Cores in a socket.", "1", low=1),
        row("text", "CpuBind", "How tasks are bound unless they say.", ""),
        row("u16", "CPUs", "Processors that Slurm counts on the node.", "", low=1),
        row("list", "CpuSpecList", "Processors kept back for the system.", ""),
        row("list", "Features", "Words that jobs may ask for with --constraint.", ""),
        row("list", "Feature", "Another spelling of Features.", ""),
        row("list", "Gres", "Generic resources on the node, such as gpu:h100:8.", ""),
        row("text", "GresConf", "What gres.conf would say about the node.", "", since="25.11"),
        row("size", "MemSpecLimit", "Memory kept back for the system.", "", unit="MiB", low=1),
        row("text", "Parameters", "Additions to SlurmdParameters for these nodes.", "", since="25.11"),
        row("text", "Port", "The port of the node's daemon.", ""),
        row("u16", "Procs", "The former name of CPUs.", "", instead="CPUs", low=1),
        row("size", "RealMemory", "The node's memory.", "1", unit="MiB", low=1),
        row("text", "Reason", "Why the node is in that state.", ""),
        row("u16", "RestrictedCoresPerGPU", "Cores next to each GPU that only jobs with GPUs may use.", "",
            since="24.05"),
        row("u16", "Sockets", "Sockets in a node.", "1", low=1),
        row("u16", "SocketsPerBoard", "Sockets on a board.", "1", low=1),
        row("choice", "State", "The state the node starts in.", "UNKNOWN", words=_STATES),
        row("u32", "SuspendTime", "Seconds after which this node is put to sleep.", "", unit="s",
            words="NONE -1", since="26.05"),
        row("u16", "ThreadsPerCore", "Hardware threads in a core.", "1", low=1),
        row("u32", "TmpDisk", "Room in TmpFS.", "0", unit="MiB"),
        row("text", "Topology", "Where the node stands in the topology.", "", since="25.05"),
        row("text", "TRESWeights", "Weights of the node's resources.", ""),
        row("u32", "Weight", "Nodes of lower weight are used first.", "1"),
    ),
    line="NodeName",
)  # fmt: skip

NODE_SET = themed(
    "Node set",
    *owned(
        Owner.NODE_GROUP,
        NODES,
        row("text", "NodeSet", "A name for several nodes."),
        row("list", "Feature", "Nodes with this feature are in the set.", ""),
        row("hosts", "Nodes", "Nodes in the set.", ""),
    ),
    line="NodeSet",
)  # fmt: skip

DOWN_NODES = themed(
    "Down nodes",
    *owned(
        Owner.NODE_GROUP,
        "Drain or resume nodes on the Nodes page: it takes effect at once and keeps who, when and why.",
        row("hosts", "DownNodes", "The nodes whose state the line sets."),
        row("text", "Reason", "Why.", ""),
        row("choice", "State", "The state the nodes start in.", "DOWN",
            words="DOWN DRAIN FAIL FAILING FUTURE UNKNOWN"),
    ),
    line="DownNodes",
)  # fmt: skip

FRONTEND = themed(
    "Front end",
    *owned(
        Owner.NODE_GROUP,
        "Front end nodes were a kind of cluster that this platform does not build.",
        row("hosts", "FrontendName", "The front end nodes that the line describes.", until="24.11"),
        row("list", "AllowGroups", "Groups that may use them.", "", until="24.11", pattern=NAMES),
        row("list", "AllowUsers", "Users that may use them.", "", until="24.11", pattern=NAMES),
        row("list", "DenyGroups", "Groups that may not.", "", until="24.11", pattern=NAMES),
        row("list", "DenyUsers", "Users that may not.", "", until="24.11", pattern=NAMES),
        row("hosts", "FrontendAddr", "Their addresses.", "", until="24.11"),
        row("u16", "Port", "The port of their daemons.", "", until="24.11"),
        row("text", "Reason", "Why they are in that state.", "", until="24.11"),
        row("choice", "State", "The state they start in.", "UNKNOWN", words=_STATES, until="24.11"),
    ),
    line="FrontendName",
)  # fmt: skip

POWER_ACTION = themed(
    "Power action",
    *owned(
        Owner.OPERATOR,
        PROGRAMS,
        row("text", "PowerAction", "A name for a way to power nodes up or down, or to restart them.",
            since="26.05"),
        row("choice", "Location", "Where its program runs.", "", words="slurmd slurmctld", since="26.05"),
        row("text", "Program", "The program.", "", since="26.05"),
    ),
    line="PowerAction",
)  # fmt: skip

ROWS = NODE + NODE_SET + DOWN_NODES + FRONTEND + POWER_ACTION
