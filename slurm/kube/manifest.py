"""An object of Kubernetes as YAML for people: keys in our order, texts of several lines as blocks. Pure."""

from typing import Any

import yaml

from slurm.kube.kinds import Thing


class _Dumper(yaml.SafeDumper):
    """Writes no anchors: what stands twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # as in the base class
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def manifest(thing: Thing) -> str:
    """What `kubectl apply -f` would take."""
    return yaml.dump(thing, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
