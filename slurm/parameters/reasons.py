"""Why the platform keeps certain keys to itself, in words shown beside a locked field."""

IDENTITY = (
    "The platform names the cluster and places its controller; accounting and the saved state hang on both."
)
NETWORK = "The platform gives each cluster its addresses and ports; another value would cut the daemons off."
ACCESS = "The platform sets how the daemons and the console recognise each other; changing it locks both out."
FILES = (
    "The platform decides where the daemons keep their files; elsewhere the files would be missing or lost."
)
ACCOUNTING = "The platform runs the accounting database of this cluster and connects the controller to it."
NODES = "Nodes follow from the cluster's node groups; scale a group to change them."
PARTITIONS = "Partitions are edited in the Partitions tab."
RESOURCES = "The platform declares the machines and their GPUs, and sets how Slurm shares them out to match."
CONTAINMENT = (
    "The platform sets how jobs are started, contained and measured to match the machines it runs them on."
)
PROGRAMS = (
    "It names a program or a library that Slurm runs with the rights of its daemons; only the platform may."
)
LIFE_SCRIPTS = "Its script is edited under Scripts, beside this; the platform writes where it is."
INCLUDE = (
    "Everything is kept in one document; an included file could not be checked, and a missing one stops "
    "Slurm."
)
MERGED_CONTROLLER = (
    "The platform needs enable_configless or its like here on some clusters and adds what it needs."
)
MERGED_TRES = "The platform counts GPUs: keep gres/gpu in the list."
