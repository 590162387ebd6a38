"""Batches: identities, and how large a batch is still worth its samples.

A batch beyond the critical size saves hardly any steps and costs its tokens (McCandlish
et al. 2018, arXiv:1812.06162). The fitted laws are of other models and data than
yours: they advise.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, exactly

_KAPLAN = "Kaplan et al. 2020 (arXiv:2001.08361) sections 1 and 5.1"
# Critical batch 2.1e8 tokens / loss^(1 / 0.21); loss (8.8e13 / parameters)^0.076.
_KAPLAN_TOKENS, _KAPLAN_POWER = 2.1e8, 0.21
_KAPLAN_PARAMETERS, _KAPLAN_LOSS_POWER = 8.8e13, 0.076
_DEEPSEEK = "DeepSeek LLM (arXiv:2401.02954) section 3.1"
_EXTRAPOLATED = "fitted on 1e17 to 2e19 FLOPs"


def global_batch(micro_batch: int, accumulation: int, data_parallel_size: int) -> int:
    """Return the samples of an optimizer step."""
    return micro_batch * accumulation * data_parallel_size


def data_parallel_size(
    world_size: int, *, tensor: int = 1, pipeline: int = 1, context: int = 1
) -> int:
    """Return the ranks that see different samples; experts are split among these."""
    return world_size // (tensor * pipeline * context)


def critical_batch_tokens(loss: float) -> Estimate:
    """Return the tokens of the critical batch at a loss in nats per token."""
    tokens = _KAPLAN_TOKENS / loss ** (1 / _KAPLAN_POWER)
    return Estimate(tokens, tokens / 3, tokens * 3, "advisory", _KAPLAN)


def converged_loss(parameters: float) -> Estimate:
    """Return the loss that a model of that size reaches with enough data."""
    loss = (_KAPLAN_PARAMETERS / parameters) ** _KAPLAN_LOSS_POWER
    return Estimate(loss, loss * 0.9, loss * 1.1, "advisory", _KAPLAN)


class Recipe(Record):
    """Tokens of a batch and peak learning rate."""

    batch_tokens: Estimate
    learning_rate: Estimate


def deepseek_recipe(compute_flops: float) -> Recipe:
    """Return what was best for a run of so many FLOPs (6 P T)."""
    tokens = 0.2920 * compute_flops**0.3271
    rate = 0.3118 * compute_flops**-0.1250
    return Recipe(
        Estimate(tokens, tokens / 2, tokens * 2, "advisory", _DEEPSEEK, _EXTRAPOLATED),
        Estimate(rate, rate / 2, rate * 2, "advisory", _DEEPSEEK, _EXTRAPOLATED),
    )


def tokens_to_hide_sharding(
    achieved_flops: float, bus_bandwidth: float, gradient_bytes: float
) -> Estimate:
    """Return how many tokens on a GPU take as long to work on as ZeRO-3's traffic.

    Independent of the model: both grow with its parameters. 6 P T / achieved =
    (2 x 2 + gradient bytes) P / bandwidth.
    """
    tokens = (4 + gradient_bytes) * achieved_flops / (6 * bus_bandwidth)
    return exactly(tokens, "FSDP traffic against compute")._replace(kind="calibrated")
