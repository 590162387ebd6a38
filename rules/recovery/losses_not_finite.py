"""A run that trained on with a loss that is no number.

Why it hurts: after a step with NaN every weight may be NaN. The run goes on for days,
and its checkpoints overwrite the last good ones.

What passes: losses that are finite. Some that are not pass too, where the run skipped
the step, stopped or went back: as many in a row as the clause allows.

Where it does not apply: nowhere; a log without the loss leaves the clause undecided.

Source: NVIDIA/Megatron-LM megatron/training/config/resilience_config.py; the number is
an engineering default.

Bad::

    step 840: loss nan; step 850: loss nan; ...; step 2000: loss nan

Good::

    step 840: loss nan; run.restore at step 800; step 810: loss 2.31
"""

from itertools import groupby

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    Sample,
    samples_of,
    series_of,
)
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class NonFinite(Numbers):
    """How many losses in a row may be no number."""

    non_finite_in_a_row: int


@rule(clause="FT-045")
def losses_not_finite(metrics: Metrics, limit: NonFinite) -> Verdicts:
    """Judge the longest row of losses that are no number."""
    series = [
        metric for metric in series_of(metrics, ["train.loss"]) if samples_of(metric)
    ]
    if not series:
        yield unknown(
            "no log holds the training loss",
            missing=["train.loss"],
            at=metrics.count,
        )
        return
    rows = [(_longest_row(metric), metric) for metric in series]
    row, worst = max(rows, key=lambda pair: len(pair[0]))
    at = [worst.values, worst.not_finite]
    if len(row) <= limit.non_finite_in_a_row:
        yield passed(at=at, measured=len(row), required=limit.non_finite_in_a_row)
        return
    first, last = row[0].step, row[-1].step
    steps = "" if first is None or last is None else f", steps {first:,} to {last:,}"
    yield fail(
        f"{len(row)} training losses in a row are no number{steps}; at most "
        f"{limit.non_finite_in_a_row} are allowed",
        at=at,
        measured=len(row),
        required=limit.non_finite_in_a_row,
        cost="a corrupted model trains on and overwrites good checkpoints",
    )


def _longest_row(series: Metric) -> list[Sample]:
    """Return the losses; None where the log does not say that any is no number."""
    if series.not_finite.value == 0:
        return []
    rows = [
        list(row)
        for is_missing, row in groupby(
            samples_of(series), key=lambda sample: sample.value is None
        )
        if is_missing
    ]
    return max(rows, key=len, default=[])
