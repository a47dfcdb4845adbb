"""The cluster's life scripts as objects. Pure.

Prologs and epilogs are the Controller's: it names a ConfigMap for each, in which each key is the name of a file beside
slurm.conf, and the operator writes the lines of slurm.conf that name them (slurm-operator 1.2, controller_config.go).
It reads these ConfigMaps whenever it looks at the Controller and is not told when they change, so the names of the
files, which change with their content, stand in the Controller's own configuration as well. All are there from the
beginning, empty at first: a Controller that comes to name one more has its pod made anew.

An init script is run by Kubernetes as a container starts (core/v1 Lifecycle, postStart): the container counts as
started when it has ended well, and is started again when it fails.
"""

from typing import Any

from clusters.life_scripts import ABOUT, OF_JOBS, Hook, file_of, files_of
from slurm.kube.kinds import CONFIG_MAP, Thing
from slurm.provisioners.slinky.design import Design

REFS = {
    Hook.WORKER_PROLOG: "prologScriptRefs",
    Hook.WORKER_EPILOG: "epilogScriptRefs",
    Hook.CONTROLLER_PROLOG: "prologSlurmctldScriptRefs",
    Hook.CONTROLLER_EPILOG: "epilogSlurmctldScriptRefs",
}
INITS = (Hook.WORKER_INIT, Hook.LOGIN_INIT)
INIT_PLACE = "/etc/quarterdeck/init"
INIT_VOLUME = "init-scripts"
EXECUTABLE = 0o755


def script_files(design: Design) -> tuple[Thing, ...]:
    """The ConfigMaps: one for each prolog and epilog, one for both init scripts."""
    names = design.names
    of_jobs = (_files(design, names.job_scripts(ABOUT[hook].stem), hook) for hook in OF_JOBS)
    return (*of_jobs, _files(design, names.init_scripts, *INITS))


def _files(design: Design, name: str, *hooks: Hook) -> Thing:
    """The API server keeps no empty `data`."""
    data = files_of(design.spec.scripts, *hooks)
    return design.thing(CONFIG_MAP, name, **({"data": data} if data else {}))


def script_refs(design: Design) -> dict[str, list[dict[str, str]]]:
    """Fields of the Controller's spec."""
    return {field: [{"name": design.names.job_scripts(ABOUT[hook].stem)}] for hook, field in REFS.items()}


def script_note(design: Design) -> str:
    """A comment for the end of slurm.conf that changes with the prologs and epilogs; empty where there is none."""
    files = [name for hook in OF_JOBS if (name := file_of(design.spec.scripts, hook))]
    return f"# Prologs and epilogs: {' '.join(files)}\n" if files else ""


def init_container(design: Design, hook: Hook) -> dict[str, Any]:
    """What a container gets for its init script: nothing where there is none."""
    name = file_of(design.spec.scripts, hook)
    return {"lifecycle": {"postStart": {"exec": {"command": [f"{INIT_PLACE}/{name}"]}}}} if name else {}


def init_mounts(design: Design, hook: Hook) -> list[dict[str, Any]]:
    if not file_of(design.spec.scripts, hook):
        return []
    return [{"name": INIT_VOLUME, "mountPath": INIT_PLACE, "readOnly": True}]


def init_volumes(design: Design, hook: Hook) -> list[dict[str, Any]]:
    if not file_of(design.spec.scripts, hook):
        return []
    files = {"name": design.names.init_scripts, "defaultMode": EXECUTABLE}
    return [{"name": INIT_VOLUME, "configMap": files}]
