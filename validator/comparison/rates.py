"""Rates that nodes measured by themselves, as readings that are compared."""

from collections.abc import Iterator

from speccheck.validator.comparison.outliers import Reading
from speccheck.validator.evidence.fleet.fleet import Fleet
from speccheck.validator.evidence.fleet.leaves import RATES

_GIGA, _TERA = 1e9, 1e12
# Label, unit, how many of the own unit make one of it, and of what it is a number.
_KINDS = {
    "copy_tests": ("copies", "GB/s", _GIGA, "GPU"),
    "matrix_products": ("products", "TFLOP/s", _TERA, "GPU"),
    "collective_runs": ("bus bandwidth", "GB/s", _GIGA, ""),
}


def rates_of(fleet: Fleet, share: float) -> Iterator[Reading]:
    """Each rate that the fleet tells: `copy_tests.host_to_device.memcpy...`."""
    for leaf in fleet.samples:
        kind, _, words = leaf.partition(".")
        if kind in RATES:
            label, unit, per, part = _KINDS[kind]
            told = f"{label} {words.replace('.', ' ')}"
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
