"""How long a plan stands still after the loss of one GPU, phase by phase.

The value of a phase is what the plan grants to it; the bounds are the best case and the
worst that the software in its default setting allows.
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.forecast.saving import STATED, size
from speccheck.validator.models.checkpointing import write_seconds
from speccheck.validator.models.estimate import Estimate, EstimateKind, exactly
from speccheck.validator.models.failures import (
    NODE_FAILURES,
    abort_of_torch,
    default_detection,
    detection,
    hot_spares,
    initialization,
)

_REPAIR_DAYS, _QUANTILE = 1, 0.99  # as hot spares are usually sized
_MOST_NODES = 1_000_000  # spares are counted one by one


def recovery_forecast(plan: TrainingPlan) -> Forecast:
    """Return the phases from the fault to the first new step, their sum, and spares.

    Work lost since the last checkpoint is no part of it. Names that reports and rules
    rely on, in this order: `detect`, `abort`, `replace`, `rendezvous`, `load`,
    `first_step` and `total` in seconds; `hot_spares`, a count.
    """
    phases = (
        _detect(plan),
        _abort(plan),
        _replace(plan),
        _rendezvous(plan),
        _load(plan),
        _first_step(plan),
    )
    return Forecast("recovery", (*phases, _total(phases), _spares(plan)))


def _detect(plan: TrainingPlan) -> Quantity:
    stated = _stated(plan, "detect", "recovery.detect_seconds")
    if stated.estimate is not None:
        return stated
    watchdog = plan.value("communication.timeout_seconds")
    if watchdog.value is not None:
        estimate = detection(watchdog.value, watchdog.note or STATED)
        note = "a process that dies is noticed at once, a hang when the watchdog ends"
        return stated._replace(estimate=estimate, missing=(), note=note)
    if plan.value("run.uses_torch").value is True:
        note = "PyTorch's own watchdog, where the framework sets none"
        return stated._replace(estimate=default_detection(), missing=(), note=note)
    return stated._replace(missing=(watchdog.name,))


def _abort(plan: TrainingPlan) -> Quantity:
    if plan.value("run.uses_torch").value is not True:
        return Quantity("abort", "seconds", missing=("run.uses_torch",))
    if plan.value("recovery.in_process_restart").value is True:
        note = "communicators are aborted inside the processes"
        estimate = abort_of_torch()._replace(value=0.0)
        return Quantity("abort", "seconds", estimate, note=note)
    note = "PyTorch waits for its flight recorder before it lets the process end"
    return Quantity("abort", "seconds", abort_of_torch(), note=note)


def _replace(plan: TrainingPlan) -> Quantity:
    return _stated(plan, "replace", "recovery.replace_seconds")


def _rendezvous(plan: TrainingPlan) -> Quantity:
    stated = _stated(plan, "rendezvous", "recovery.initialize_seconds")
    ranks = plan.value("cluster.world_size").value
    if stated.estimate is not None or ranks is None:
        return stated
    longest = plan.value("communication.initialization_timeout_seconds").value
    note = f"{ranks:,} ranks; published times differ by a factor of 200"
    estimate = initialization(ranks, longest)
    return stated._replace(estimate=estimate, missing=(), note=note)


def _load(plan: TrainingPlan) -> Quantity:
    stated = _stated(plan, "load", "recovery.load_seconds")
    bandwidth = plan.value("checkpoint.storage_bytes_per_second").value
    saved = size(plan).estimate
    if stated.estimate is not None or saved is None:
        return stated
    if not bandwidth or bandwidth <= 0:
        return stated
    # Readers may be slower than the store, and the store reads faster than it writes.
    estimate = write_seconds(saved, bandwidth)._replace(lower=0, kind="advisory")
    note = f"{saved.value:,.0f} bytes / {bandwidth:,.0f} a second"
    return stated._replace(estimate=estimate, missing=(), note=note)


def _first_step(plan: TrainingPlan) -> Quantity:
    step = plan.value("run.step_seconds")
    if step.value is None:
        return Quantity("first_step", "seconds", missing=(step.name,))
    estimate = exactly(step.value, STATED)
    if plan.value("kernels.compiled").value is not False:
        estimate = estimate._replace(upper=float("inf"), kind="lower_bound")
    note = "one step; compilation and warm-up come on top"
    return Quantity("first_step", "seconds", estimate, note=note)


def _stated(plan: TrainingPlan, name: str, leaf: str) -> Quantity:
    """Return the phase as the plan states it, else what is missing."""
    value = plan.value(leaf).value
    if value is None:
        return Quantity(name, "seconds", missing=(leaf,))
    return Quantity(name, "seconds", exactly(value, STATED))


def _total(phases: tuple[Quantity, ...]) -> Quantity:
    """Return the sum of the known phases: a bound from below where one is not."""
    known = [phase.estimate for phase in phases if phase.estimate is not None]
    lacking = [phase for phase in phases if phase.estimate is None]
    missing = tuple(
        dict.fromkeys(name for quantity in lacking for name in quantity.missing)
    )
    if not known:
        return Quantity("total", "seconds", missing=missing)
    total = sum(known[1:], known[0])
    if not lacking:
        return Quantity("total", "seconds", total)
    bound = total._replace(upper=float("inf"), kind=_bound_kind(total))
    note = "without " + ", ".join(quantity.name for quantity in lacking)
    return Quantity("total", "seconds", bound, missing, note)


def _bound_kind(total: Estimate) -> EstimateKind:
    return "advisory" if total.kind == "advisory" else "lower_bound"


def _spares(plan: TrainingPlan) -> Quantity:
    """Return the nodes that replace the broken ones while these are repaired."""
    nodes = plan.value("cluster.nodes").value
    if nodes is None or not 0 < nodes <= _MOST_NODES:
        return Quantity("hot_spares", "count", missing=("cluster.nodes",))
    usual, low, high = (
        hot_spares(nodes * rate * _REPAIR_DAYS, _QUANTILE).value
        for rate in (NODE_FAILURES.usual, NODE_FAILURES.low, NODE_FAILURES.high)
    )
    estimate = Estimate(usual, low, high, "advisory", NODE_FAILURES.source)
    note = "enough in 99 of 100 cases where a repair takes one day"
    return Quantity("hot_spares", "count", estimate, note=note)
