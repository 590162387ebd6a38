"""Composer's spellings of a time: `1000ba`, `1ep`, `0.1dur`, `86400sec`.

Source: mosaicml/composer composer/core/time.py (Time.from_timestring, TimeUnit).
"""

from typing import Literal, cast

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.mapping import Unusable, placeholder

Unit = Literal["ba", "ep", "tok", "sp", "dur", "sec", "iter"]

_TIME = lazy_pattern(
    r"\s*(\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*(ba|ep|tok|sp|dur|sec|iter)\s*$"
)


class ComposerTime(Record):
    """An amount of batches, epochs, tokens, samples, seconds, or a share of the run."""

    amount: float
    unit: Unit
    text: str


class Step(Record):
    """What one optimizer step takes; None where the file does not say it."""

    samples: int | None = None
    tokens: int | None = None


def composer_time(value: object) -> ComposerTime | Unusable:
    """The time that a value writes; a bare number counts epochs."""
    if isinstance(value, int) and not isinstance(value, bool):
        return ComposerTime(float(value), "ep", f"{value}")
    if not isinstance(value, str):
        return Unusable(f"{value!r:.60} is no time")
    found = _TIME.match(value.lower())
    if found is None:
        return placeholder(value) or Unusable(f"{value!r:.60} is no time")
    return ComposerTime(float(found[1]), cast("Unit", found[2]), value.strip())


def steps_of(time: ComposerTime, step: Step, run: int | None) -> int | None:
    """The optimizer steps in a time; None where they cannot be told.

    Args:
        time: one that is counted in anything.
        step: what a step takes.
        run: steps of the run, for a share of it.
    """
    if time.unit == "ba":
        return int(time.amount)
    if time.unit == "sp" and step.samples:
        return max(1, int(time.amount) // step.samples)
    if time.unit == "tok" and step.tokens:
        return max(1, int(time.amount) // step.tokens)
    if time.unit == "dur" and run:
        return max(1, int(time.amount * run))
    return None
