"""Small collectives that sometimes take several times as long as usual.

Why it hurts: pipelines and optimizers wait for small collectives at every step, and on
many ranks the slowest of them is one of the tail every time.

What passes: the 99th percentile of small messages is at most the clause's multiple of
the median.

Where it does not apply: tools that print one time for a size; larger messages.

Source: engineering default; NVIDIA/nccl-tests 2.19 prints the percentile with `-I`.

Bad::

    # 8 bytes, median 21 us, 99th percentile 118 us

Good::

    # 8 bytes, median 21 us, 99th percentile 34 us
"""

from collections.abc import Iterator

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.forecast.bandwidth import collective_of
from speccheck.validator.forecast.collective_series import Series, microseconds
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Tail(Numbers):
    """The largest ratio of tail latency to typical latency.

    small_message: the largest message that is judged, in bytes.
    """

    small_message: int
    tail_ratio: float


@rule(clause="COMM-012", confidence="calibrated")
def latency_has_a_tail(run: CollectiveRun, limit: Tail) -> Verdicts:
    """Judge the worst of the small sizes."""
    is_judged = run.collective.is_known and collective_of(run) == "all_reduce"
    numbers = max(_tails(run, limit.small_message), default=None) if is_judged else None
    if numbers is None:
        return
    ratio, size, median, slow = numbers
    at = [run.p99_seconds, run.seconds]
    if ratio <= limit.tail_ratio:
        yield passed(at=at, measured=round(ratio, 2), required=limit.tail_ratio)
        return
    yield fail(
        f"{Series((run,)).title}: of {shown_bytes(size)}, one in a hundred takes "
        f"{microseconds(slow)}, {ratio:.1f} times the median, {microseconds(median)}; "
        f"at most {limit.tail_ratio:g} times should be",
        at=at,
        measured=round(ratio, 2),
        required=limit.tail_ratio,
    )


def _tails(
    run: CollectiveRun, most_bytes: int
) -> Iterator[tuple[float, int, float, float]]:
    """Yield the ratio, size, median and percentile of each small size that has them."""
    rows = zip(
        run.size_bytes.or_else(()),
        run.seconds.or_else(()),
        run.p99_seconds.or_else(()),
        strict=False,
    )
    for size, median, slow in rows:
        if size is not None and size <= most_bytes and median and slow is not None:
            yield slow / median, size, median, slow
