"""Gradients that take too much of the step on the wires of the job.

Why it hurts: above a share of the step no schedule hides the exchange. Added nodes then
cost money and bring no throughput.

What passes: the exchange of gradients, and of weights where they are sharded, takes at
most the share of the clause, even on wires that reach 80 percent of their rate and in
the shortest step. The clause fails only where the wires' full rate and the longest step
leave no doubt; between the two it is open.

Where it does not apply: all data-parallel ranks share a node.

Source: Rajbhandari et al. 2020 (arXiv:1910.02054) section 7 for the volume; the rates
of the hardware catalogue; utilizations of published runs for the compute, unless the
plan states the time of a step.

Bad::

    # 7 billion parameters, 16 nodes with 100 Gbit/s each
    "zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1

Good::

    "zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 8
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.step import step_forecast
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_STATED = "run.step_seconds"
_NIC = "cluster.nic_bits_per_second_per_gpu"


class ExchangeShare(Numbers):
    """The share of the step that the exchange may take."""

    comm_share: float


@rule(clause="COMM-008", confidence="calibrated", needs=(_NIC,))
def gradient_exchange_outlasts_step(
    plan: TrainingPlan, limit: ExchangeShare
) -> Verdicts:
    """Judge the least share, then the greatest."""
    if not _crosses_nodes(plan):
        return
    forecast = step_forecast(plan)
    exchange = forecast.named("data_parallel_seconds").need()
    stated = plan.value(_STATED)
    if stated.value is not None:
        shortest = longest = float(stated.value)
        step = f"the stated step of {longest:.3g} s"
    else:
        compute = forecast.named("compute_seconds").need()
        idle = forecast.named("bubble_share").need().value
        shortest, longest = compute.lower, compute.upper / (1 - idle)
        step = f"a step of {max(longest, exchange.lower):.3g} s at most"
    # A step lasts as long as its exchange at least.
    least = exchange.lower / max(longest, exchange.lower)
    most = exchange.upper / max(shortest, exchange.upper)
    at: list[Value[object]] = [plan.value(name) for name in _PLACES]
    if most <= limit.comm_share:
        yield passed(at=at, measured=most, required=limit.comm_share)
    elif least > limit.comm_share:
        yield fail(
            f"the data-parallel exchange takes at least {exchange.lower:.3g} s, "
            f"{least:.0%} of {step}; {limit.comm_share:.0%} should be the most",
            at=at,
            measured=least,
            required=limit.comm_share,
            cost="GPUs wait for the network in every step",
        )
    else:
        yield unknown(
            f"the exchange takes {least:.0%} to {most:.0%} of {step}; up to "
            f"{limit.comm_share:.0%} is fine",
            missing=() if stated.is_known else (_STATED,),
            at=at,
        )


_PLACES = (
    _NIC,
    "batch.micro_batch_size",
    "parallelism.sharding_stage",
    _STATED,
)


def _crosses_nodes(plan: TrainingPlan) -> bool:
    """Return whether data-parallel ranks lie on several nodes, outside tensor ranks."""
    ranks = plan.value("parallelism.data_parallel_size").need()
    local = plan.value("cluster.gpus_per_node").need()
    tensor = plan.value("parallelism.tensor_parallel_size").or_else(1)
    return bool(ranks * tensor > local)
