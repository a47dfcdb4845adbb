"""Whether a controller runs with the settings that its file says, judged by `scontrol show config`.

Pure. Only values that Slurm prints as they were written are compared: whole numbers and names. A number of 0 mostly
means "the default", which is printed as such, and says nothing here.
"""

from collections.abc import Iterator, Mapping

from slurm.conf import parse


def unlike(conf_text: str, running: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each top-level setting of the text that the running configuration contradicts."""
    found = {key.lower(): value for key, value in running.items()}
    return tuple(
        f"{key} should be {wanted}, the controller runs with {found[key.lower()]}"
        for key, wanted in _numbers(conf_text)
        if key.lower() in found and _differs(wanted, found[key.lower()])
    )


def _numbers(conf_text: str) -> Iterator[tuple[str, str]]:
    for _line, setting in parse(conf_text).settings():
        if setting.value.isdigit() and int(setting.value):
            yield setting.key, setting.value


def _differs(wanted: str, shown: str) -> bool:
    """`60` is like `60 sec`; what is not printed as a number cannot be compared."""
    number = shown.split()[0] if shown.split() else ""
    return number.isdigit() and int(number) != int(wanted)
