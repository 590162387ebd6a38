"""A measurement that did not end.

Why it hurts: a rank that dies or hangs in a test of minutes does so in a run of weeks.
What was measured until then says nothing of the sizes that were never reached.

What passes: the run ended as its tool ends.

Where it does not apply: tools whose output does not tell whether they ended.

Source: NVIDIA/nccl-tests, whose footer is missing where a rank died.

Bad::

    # the last line is of 512 MiB; no "# Avg bus bandwidth"

Good::

    # Avg bus bandwidth    : 159.4
"""

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.forecast.collective_series import Series
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="COMM-075")
def collective_run_died(run: CollectiveRun) -> Verdicts:
    """Judge whether it ended, and tell how far it came."""
    if run.is_complete.value:
        yield passed(at=run.is_complete)
    elif run.is_complete.is_known:
        sizes = [number for number in run.size_bytes.or_else(()) if number is not None]
        reached = f"up to {shown_bytes(max(sizes))}" if sizes else "nothing"
        why = f" ({run.ended_by.value})" if run.ended_by.is_known else ""
        yield fail(
            f"{Series((run,)).title}: it did not end{why}; measured was {reached}, "
            "and no size above it is known to work",
            at=[run.is_complete],
            measured=max(sizes, default=0),
        )
