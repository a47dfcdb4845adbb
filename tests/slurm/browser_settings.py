"""Settings of the web process that browser tests drive: the real ones, with a cluster whose commands are scripted."""

from console.settings import *  # noqa: F403
from console.settings import PROVISIONERS

PROVISIONERS["sandbox"] = "tests.slurm.fake_slurm.FakeProvisioner"
