"""An algorithm that is forced, and another one that large messages took.

Why it hurts: a measurement or a work-around rests on an algorithm that did not run:
NCCL leaves the list aside where it has no such way for the job.

What passes: the tuner took an algorithm of the list for all-reduces of large messages.

Where it does not apply: NCCL_ALGO is not set, or a tuner plugin decides. Releases
before 2.23 do not write the collective: there it is unknown.

Source: NVIDIA/nccl src/graph/tuning.cc, src/enqueue.cc (Bytes -> Algo).

Bad::

    NCCL_ALGO=NVLSTree    and    AllReduce: 1073741824 Bytes -> Algo RING ...

Good::

    NCCL_ALGO=NVLSTree    and    AllReduce: 1073741824 Bytes -> Algo NVLS_TREE ...
"""

from speccheck.rules.communication._algorithms import (
    algorithms_of,
    has_tuner,
    negates,
)
from speccheck.rules.communication._ran import Setting, one_verdict, setting
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule

_FUNCTION = "allreduce"


class Large(Numbers):
    """From which size on a message is large."""

    large_bytes: int


@rule(clause="COMM-087")
def forced_algorithm_not_taken(
    communicators: Communicators,
    taken: VariablesInForce,
    environment: Environment,
    limit: Large,
) -> Verdicts:
    """Judge the choices of the tuner for large all-reduces."""
    result = setting("NCCL_ALGO", environment, taken)
    if result is None or not result.value.strip() or has_tuner(environment):
        return
    yield from one_verdict(
        communicators, lambda communicator: _judged(communicator, result, limit)
    )


def _judged(
    communicator: Communicator, result: Setting, limit: Large
) -> Verdict | None:
    listed = {name.replace("_", "") for name in algorithms_of(result.value, _FUNCTION)}
    if not listed - {""} or communicator.tuner_plugin.value not in {None, "internal"}:
        return None
    rows = zip(
        communicator.tuned_collective.need(),
        communicator.tuned_bytes.need(),
        communicator.tuned_algorithm.need(),
        strict=False,
    )
    large = [row for row in rows if row[1] is not None and row[1] >= limit.large_bytes]
    if any(collective is None for collective, _, _ in large):
        raise MissingEvidence(
            communicator.tuned_collective.name, "this release does not say it"
        )
    chosen = [
        (size, algorithm)
        for collective, size, algorithm in large
        if (collective or "").lower() == _FUNCTION and algorithm
    ]
    if not chosen:
        return None
    at = [result.place, *communicator.tuned_algorithm.places]
    for size, algorithm in chosen:
        is_listed = _is_listed(algorithm, listed)
        if is_listed is negates(result.value):
            return fail(
                f"NCCL_ALGO={result.value}, and all-reduces of {size:,} bytes took "
                f"{algorithm}",
                at=at,
                measured=algorithm,
                required=result.value,
                cost="the measurement, or the work-around, is of another algorithm",
                remedy="Look why NCCL has no such way here (NVLS channels, COLLNET, "
                "number of nodes), or unset NCCL_ALGO.",
            )
    return passed(at=at, measured=chosen[-1][1])


def _is_listed(algorithm: str, listed: set[str]) -> bool:
    """Return whether it is listed; `collnet` names both kinds, `_` is ignored."""
    name = algorithm.lower().replace("_", "")
    return name in listed or ("collnet" in listed and name.startswith("collnet"))
