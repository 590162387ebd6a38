"""A collective whose results are wrong.

Why it hurts: sums of gradients that are wrong train a wrong model, and nothing stops.
The cause is memory, a link or a library, and it is on these nodes.

What passes: results were compared with the right ones, and none differed.

Where it does not apply: runs that compared nothing (nccl-tests with `-c 0`).

Source: NVIDIA/nccl-tests doc/PERFORMANCE.md, the column `#wrong`.

Bad::

    #                                           out-of-place
    #  size   count   type  redop  root     time   algbw   busbw  #wrong
      8388608 2097152 float    sum    -1    133.5   62.82  109.93      64

Good::

      8388608 2097152 float    sum    -1    133.5   62.82  109.93       0
"""

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.forecast.collective_series import Series
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="COMM-072")
def collective_result_wrong(run: CollectiveRun) -> Verdicts:
    """Judge the count of wrong values at each size."""
    counts = run.wrong_values.or_else(())
    sizes = run.size_bytes.or_else(())
    wrong = [at for at, count in enumerate(counts) if count]
    title = Series((run,)).title
    if wrong:
        first = wrong[0]
        size = sizes[first] if first < len(sizes) else None
        where = "" if size is None else f" at {shown_bytes(size)}"
        yield fail(
            f"{title}: {counts[first]} wrong values{where}, wrong at {len(wrong)} of "
            f"{len(counts)} sizes; required is none",
            at=[run.wrong_values],
            measured=sum(count or 0 for count in counts),
            required=0,
        )
    elif run.out_of_bounds.value and not any(count is not None for count in counts):
        yield fail(
            f"{title}: the tool counts wrong results at {run.out_of_bounds.value} "
            "sizes; required is none",
            at=[run.out_of_bounds],
            measured=run.out_of_bounds.value,
            required=0,
        )
    elif run.is_compared.value is False or not _is_seen_right(run):
        return
    elif not run.is_complete.value:
        yield unknown(
            f"{title}: no wrong values as far as it ran; it did not end, or nothing "
            "tells that it did",
            missing=[run.is_complete.name],
            at=run.is_complete,
        )
    else:
        yield passed(at=[run.wrong_values, run.out_of_bounds], measured=0, required=0)


def _is_seen_right(run: CollectiveRun) -> bool:
    """Return whether results were compared, and are known to have been right."""
    if any(number == 0 for number in run.wrong_values.or_else(())):
        return True
    return run.is_compared.value is True and run.out_of_bounds.value == 0
