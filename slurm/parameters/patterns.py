"""The shapes of values that are neither numbers nor fixed words, as regular expressions for a whole value.

`SHAPES` says each in words, to end a sentence that begins “...” is not.
"""

NAME = r"[a-z0-9_][a-z0-9_.@+-]*"
NAMES = rf"{NAME}(,{NAME})*"
# Directories name groups with blanks and domains (`lab\\domain users`).
_GROUP = r"[a-z0-9_][a-z0-9_.@+\\ $-]*"
GROUPS = rf"{_GROUP}(,{_GROUP})*"
CODES = r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*"
PORTS = r"[0-9]+(-[0-9]+)?"
PORT_RANGE = r"[0-9]+-[0-9]+"
SHARING = r"no|exclusive|(yes|force)(:[1-9][0-9]*)?"
ABSOLUTE = r"/.*"
DIRECTORIES = r"none|/[^,]*(,/[^,]*)*"
CLUSTER = r"[a-z0-9_-]{1,40}"
LICENSES = r"[^\s,:]+(:[0-9]+)?(,[^\s,:]+(:[0-9]+)?)*"
RESOURCES = r"[a-z]+(/[a-z0-9_.:@-]+)?(,[a-z]+(/[a-z0-9_.:@-]+)?)*"

_WEIGHT = r"[a-z]+(/[a-z0-9_.:@-]+)?=[0-9]+(\.[0-9]+)?[kmgtp]?"
WEIGHTS = rf"{_WEIGHT}(,{_WEIGHT})*"

_SAMPLING = r"([0-9]+|(task|energy|network|filesystem)=[0-9]+)"
SAMPLINGS = rf"{_SAMPLING}(,{_SAMPLING})*"

SHAPES = {
    NAME: "a name: letters, digits and . _ - @ +",
    NAMES: "a list of names with commas between them",
    GROUPS: "a list of names with commas between them",
    CODES: "a list of exit codes such as 1,3-5",
    PORTS: "a port, or a range such as 6820-6830",
    PORT_RANGE: "a range of ports such as 60001-63000",
    SHARING: "NO, YES, FORCE, EXCLUSIVE, or YES:n or FORCE:n with n from 1",
    ABSOLUTE: "a path that begins with /",
    DIRECTORIES: "a list of directories such as /lib,/usr/lib, or none",
    CLUSTER: "a name of at most 40 letters, digits, - and _",
    LICENSES: "a list of licenses such as matlab:5,ansys:2",
    RESOURCES: "a list of resources such as gres/gpu,license/x",
    WEIGHTS: "a list of weights such as CPU=1.0,Mem=0.25G,GRES/gpu=2",
    SAMPLINGS: "a number of seconds, or a list such as task=30,energy=60",
}
