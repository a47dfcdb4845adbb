"""Asking the controller what it runs with, by commands in its pod. Blocking."""

from clusters.provisioner import Executor
from console.errors import ConsoleError, Unavailable
from slurm.client import Slurm
from slurm.outputs.text import decoded
from slurm.provisioners.slinky.running import Running, Silence

CONF_FILE = "/etc/slurm/slurm.conf"


def read_running(executor: Executor) -> Running | Silence:
    """Five commands in three exchanges, 4 s a command at most. Never raises."""
    conf, slurm = "", Slurm(executor)
    try:
        conf = _file(executor)
        config, seen = slurm.config(), slurm.everything()
        return Running(conf, config, seen.nodes, seen.partitions, seen.jobs)
    except ConsoleError as error:
        return Silence(error.message, conf, _fatal(executor) if conf else ())


def _file(executor: Executor) -> str:
    done = executor.run(["cat", CONF_FILE])
    if done.code:
        raise Unavailable(f"slurm.conf in the controller's pod cannot be read: {done.stderr.strip()[:200]}")
    return decoded(done.stdout)


def _fatal(executor: Executor) -> tuple[str, ...]:
    """What a command says that only reads the file and asks nobody, if it ends of it."""
    try:
        done = executor.run(["scontrol", "--version"])
    except Unavailable:
        return ()
    if not done.code or "fatal:" not in done.stderr:
        return ()
    return tuple(line.removeprefix("scontrol: ") for line in done.stderr.splitlines())
