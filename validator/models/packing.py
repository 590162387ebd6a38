"""Packing: short samples share a sequence instead of each being padded to its length.

Sequences hold whole samples. The bounds are counts: no packing takes fewer sequences
than the tokens fill, and first fit opens another one only when all that are open have
no room for the sample, so that all but the last hold more than length - longest tokens.
"""

import math

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, exactly

_SOURCE = "tokens / sequence length; first fit leaves less than the longest sample"


class PackedSamples(Record):
    """Samples of an epoch or a batch, in tokens."""

    number: int
    mean_length: float
    longest: int


def padded_share(mean_length: float, padded_length: int) -> Estimate:
    """Return the share of empty positions where each sample is padded."""
    return exactly(1 - mean_length / padded_length, "1 - mean length / padded length")


def packed_sequences(samples: PackedSamples, sequence_length: int) -> Estimate:
    """Return the sequences that samples no longer than a sequence fill."""
    tokens = samples.number * samples.mean_length
    least = math.ceil(tokens / sequence_length)
    filled = sequence_length - samples.longest + 1
    most = min(samples.number, math.floor(tokens / filled) + 1)
    return Estimate(least, least, max(least, most), "lower_bound", _SOURCE, "first fit")


def packing_gain(samples: PackedSamples, sequence_length: int) -> Estimate:
    """Return samples of a packed step over those of one padded to the full length."""
    sequences = packed_sequences(samples, sequence_length)
    return sequences._replace(
        value=samples.number / sequences.value,
        lower=samples.number / sequences.upper,
        upper=samples.number / sequences.lower,
        kind="advisory",
    )
