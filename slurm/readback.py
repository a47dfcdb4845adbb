"""Whether a controller runs with the settings that its file says, judged by `scontrol show config`.

Pure. Only values that Slurm prints as they were written are compared: whole numbers and names. A number of 0 mostly
means "the default", which is printed as such, and says nothing here.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from clusters.life_scripts import ABOUT, OF_JOBS, file_of
from clusters.spec import LifeScripts
from slurm.conf import parse


def unlike(conf_text: str, running: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each top-level setting of the text that the running configuration contradicts."""
    found = {key.lower(): value for key, value in running.items()}
    return tuple(
        f"{key} should be {wanted}, the controller runs with {found[key.lower()]}"
        for key, wanted in _numbers(conf_text)
        if key.lower() in found and _differs(wanted, found[key.lower()])
    )


def unlike_scripts(scripts: LifeScripts, running: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each prolog and epilog of the cluster that is not the one that the controller runs with.

    By the file's name alone, which stands for its content. `Prolog = (null)` for none up to 23.11; since 24.05
    `Prolog[0] = ...`, and no such line for none.
    """
    found = {key.lower(): value for key, value in running.items()}
    return tuple(
        f"{ABOUT[hook].title} should be {wanted or 'none'}, the controller runs with {has or 'none'}"
        for hook in OF_JOBS
        if (wanted := file_of(scripts, hook)) != (has := _running_script(ABOUT[hook].key.lower(), found))
    )


def _running_script(key: str, found: Mapping[str, str]) -> str:
    shown = found.get(f"{key}[0]") or found.get(key) or ""
    return "" if shown == "(null)" else PurePosixPath(shown).name


def _numbers(conf_text: str) -> Iterator[tuple[str, str]]:
    for _line, setting in parse(conf_text).settings():
        if setting.value.isdigit() and int(setting.value):
            yield setting.key, setting.value


def _differs(wanted: str, shown: str) -> bool:
    """`60` is like `60 sec`; what is not printed as a number cannot be compared."""
    number = shown.split()[0] if shown.split() else ""
    return number.isdigit() and int(number) != int(wanted)
