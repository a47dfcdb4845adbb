"""Whether a cluster keeps accounting, and what of it the controller enforces, read from its running configuration.

Pure. AccountingStorageEnforce is the user's part of slurm.conf (`slurm.parameters.accounting`), so it is turned on
there (slurm.conf(5), AccountingStorageEnforce; what implies what is said there too).
"""

from collections.abc import Mapping
from dataclasses import dataclass

KEY = "AccountingStorageEnforce"
WANTED = f"{KEY}=limits,qos"
_IMPLIED = {
    "1": {"associations"},
    "2": {"associations", "limits"},
    "limits": {"associations"},
    "qos": {"associations"},
    "wckeys": {"associations"},
    "safe": {"associations", "limits"},
    "all": {"associations", "limits", "qos", "wckeys"},
}
_NOTHING = {"", "none", "(null)", "0"}
_WEIGHTS = {
    "age": "PriorityWeightAge",
    "association": "PriorityWeightAssoc",
    "fair_share": "PriorityWeightFairShare",
    "job_size": "PriorityWeightJobSize",
    "partition_factor": "PriorityWeightPartition",
    "qos_factor": "PriorityWeightQOS",
}


@dataclass(frozen=True)
class Enforcement:
    """`weights` are of the factors of a priority; `half_life` and `tres_weights` as scontrol prints them."""

    has_accounting: bool
    enforced: frozenset[str]
    weights: Mapping[str, int]
    tres_weights: str = ""
    half_life: str = ""

    @property
    def needs_association(self) -> bool:
        return "associations" in self.enforced

    @property
    def limits(self) -> bool:
        return "limits" in self.enforced

    @property
    def qos(self) -> bool:
        return "qos" in self.enforced

    @property
    def is_whole(self) -> bool:
        return self.limits and self.qos

    @property
    def has_weights(self) -> bool:
        return any(self.weights.values()) or bool(self.tres_weights)

    @property
    def sentence(self) -> str:
        """What holds, in one sentence."""
        if self.is_whole:
            return "Limits and QOS are enforced: a job beyond them waits, or is refused."
        if self.limits:
            return "Limits of accounts and users are enforced, those of QOS are not."
        if self.needs_association:
            return "Jobs need an account, but no limit is enforced."
        return "Nothing here is enforced: jobs run whatever their account or QOS allows."


def enforcement_of(config: Mapping[str, str]) -> Enforcement:
    """From `scontrol show config`, whose words for "none" differ between versions."""
    words = {word.strip().lower() for word in config.get(KEY, "").split(",")} - _NOTHING
    enforced = frozenset(words.union(*(_IMPLIED.get(word, set()) for word in words)))
    weights = {name: _whole(config.get(key, "")) for name, key in _WEIGHTS.items()}
    return Enforcement(
        has_accounting=config.get("AccountingStorageType", "").endswith("slurmdbd"),
        enforced=enforced,
        weights=weights,
        tres_weights=_word(config.get("PriorityWeightTRES", "")),
        half_life=_word(config.get("PriorityDecayHalfLife", "")),
    )


def wanted_words(words: str) -> str:
    """The value that enforces limits and QOS beside what `words` says already."""
    kept = [word.strip() for word in words.split(",") if word.strip().lower() not in _NOTHING]
    said = {word.lower() for word in kept}
    held = said.union(*(_IMPLIED.get(word, set()) for word in said))
    return ",".join([*kept, *(word for word in ("limits", "qos") if word not in held)])


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _word(text: str) -> str:
    return "" if text in ("(null)", "NONE", "None") else text
