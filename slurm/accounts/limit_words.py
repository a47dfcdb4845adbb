"""Limits and uses in words: `12 GPUs, 64 CPUs`, `600 GPU-minutes`, `1 d`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from console.words import count, duration, memory
from slurm.accounts.limits import GPU, Kind, Limit, tres_of


@dataclass(frozen=True)
class Told:
    """One limit that is set, for a page."""

    limit: Limit
    words: str


def told(limits: tuple[Limit, ...], values: Mapping[str, str]) -> list[Told]:
    """Those that are set, in the catalogue's order."""
    return [Told(one, value_words(one, values[one.option])) for one in limits if values.get(one.option)]


def value_words(limit: Limit, value: str) -> str:
    if limit.kind is Kind.COUNT:
        return count(int(value), "job")
    if limit.kind is Kind.DURATION:
        return duration(int(value) * 60)
    unit = "-minutes" if limit.kind is Kind.TRES_MINUTES else ""
    return ", ".join(resource_words(name, number, unit) for name, number in tres_of(value).items())


def resource_words(name: str, number: float, unit: str = "") -> str:
    """`8 GPUs`, `64 CPUs`, `1.0 TiB`, `8 GPU-minutes`; a resource that has no word of ours keeps Slurm's."""
    amount = round(number)
    if name == "mem":
        return f"{memory(amount)}{unit.replace('-', ' ')}"
    noun = {GPU: "GPU", "cpu": "CPU", "node": "node"}.get(name, "")
    if not noun:
        return f"{amount} {name}{unit}"
    return f"{amount} {noun}{unit}" if unit else count(amount, noun)
