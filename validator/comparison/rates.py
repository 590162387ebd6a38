"""Rates that nodes measured by themselves, as readings that are compared."""

from collections.abc import Iterator

from speccheck.validator.comparison.outliers import MIB, Reading
from speccheck.validator.evidence.fleet import RATES, Fleet

_GIGA, _TERA = 1e9, 1e12
# Label, unit, how many of the own unit make one of it, and of what it is a number.
_KINDS = {
    "copy_tests": ("copies", "GB/s", _GIGA, "GPU"),
    "matrix_products": ("products", "TFLOP/s", _TERA, "GPU"),
    "collective_runs": ("bus bandwidth", "GB/s", _GIGA, ""),
}


def _is_told(word: str) -> bool:
    return word != "None"


def _told(word: str) -> str:
    """A word of the name of a rate; sizes of messages and of copies in MiB."""
    size = int(word) if word.isdecimal() else 0
    return f"{size / MIB:,.0f} MiB" if size >= MIB else word


def rates_of(fleet: Fleet, share: float) -> Iterator[Reading]:
    """Each rate that the fleet tells: `copy_tests.host_to_device.memcpy...`."""
    for leaf in fleet.samples:
        kind, _, words = leaf.partition(".")
        if kind in RATES:
            label, unit, per, part = _KINDS[kind]
            told = " ".join([label, *map(_told, filter(_is_told, words.split(".")))])
            yield Reading(
                leaf,
                told,
                unit,
                per,
                share=share,
                is_high_worse=False,
                part=part,
                kind=kind,
            )
