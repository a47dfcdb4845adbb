"""Kubernetes quantities (apimachinery's `resource.Quantity`) as numbers. Pure."""

import re
from decimal import Decimal
from fractions import Fraction

_BINARY = {unit: 1024**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": 1}
_DECIMAL |= {unit: 1000**power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), 1)}
_SCALES = {**_BINARY, **_DECIMAL}
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([KMGTPE]i|[numkMGTPE]?)")


def amount(quantity: object) -> Fraction:
    """`96`, `95500m`, `1056Gi` as a number of whole units (bytes for memory); 0 for what is none."""
    found = _QUANTITY.fullmatch(str(quantity).strip())
    try:
        return Fraction(Decimal(found[1])) * _SCALES[found[2]] if found else Fraction(0)
    except ArithmeticError:
        return Fraction(0)


def whole(quantity: object) -> int:
    """GPUs come as plain digits nearly always, and there are as many of them as pods in the region."""
    text = str(quantity)
    return int(text) if text.isascii() and text.isdigit() else int(amount(text))


def mib(quantity: object) -> int:
    return int(amount(quantity) / 2**20)
