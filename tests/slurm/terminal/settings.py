"""The console's settings with the tests' platform beside the real ones, for the processes that tests start."""

from console.settings import *  # noqa: F403
from console.settings import PROVISIONERS

PROVISIONERS = {**PROVISIONERS, "private-sshd": "tests.slurm.terminal.provisioner.PrivateSshd"}
