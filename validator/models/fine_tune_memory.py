"""Peaks of fine-tuning on one GPU, and of adapters on a frozen base.

Active memory has two peaks: the end of the forward pass, which has no gradients yet,
and the end of the backward pass, which has no activations left. Reserved memory behaves
like their sum. Held to torchtune rows tune-02 to tune-18 and 43 litgpt rows.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.activation_memory import (
    MOST_ADAPTER_SHARE,
    Work,
    activation_estimate,
    layer_elements,
    logit_estimate,
    working_set_bytes,
)
from speccheck.validator.models.estimate import Estimate
from speccheck.validator.models.parameters import Dimensions, layer_parameters
from speccheck.validator.models.peak_memory import GATHERED_LAYERS
from speccheck.validator.models.state_memory import (
    Scheme,
    Sharding,
    bytes_per_parameter,
    frozen_base_bytes,
    state_bytes,
)

ACTIVE = "pytorch/torchtune README, active memory"
ADAPTER = "torchtune README and litgpt tables of adapters"


def single_device_active(
    parameters: Estimate,
    dimensions: Dimensions,
    scheme: Scheme,
    work: Work,
    *,
    pages_optimizer: bool = False,
) -> Estimate:
    """Bytes that one GPU without sharding holds at once.

    pages_optimizer: its state moves to the host and is not counted as active.
    """
    kept = bytes_per_parameter(scheme)
    optimizer = 0.0 if pages_optimizer else kept.optimizer.value
    gradients = 0.0 if scheme.frees_gradients else kept.gradients.value
    activations = activation_estimate(dimensions, work, dimensions.layers)
    stored = activations.value if work.keeps_activations else 0.0
    working = working_set_bytes(dimensions, work)
    logits = logit_estimate(dimensions, work)
    forward = (kept.weights.value + optimizer) * parameters.value
    forward += stored + max(logits.value, working)
    backward = (kept.weights.value + gradients + optimizer) * parameters.value + working
    whole = Sharding(1, 1, 1, 0, offloads_optimizer=pages_optimizer)
    states = state_bytes(parameters, scheme, whole)
    return Estimate(
        max(forward, backward),
        states.lower,
        states.upper + activations.upper + logits.upper,
        "calibrated",
        ACTIVE,
        "torchtune on one GPU",
    )


class FrozenBase(Record):
    """A frozen base model under an adapter.

    embedding_parameters: of embedding and head, which stay in 16 bits. kept_share: of
    `layer_elements` that stays for the backward pass, by `frozen_share`; it is of no
    matter under full recomputation.
    """

    parameters: int
    embedding_parameters: int
    bits: int
    is_double_quantized: bool = False
    kept_share: float = 1.0
    shard_ranks: int = 1


def adapter_peak(base: FrozenBase, dimensions: Dimensions, work: Work) -> Estimate:
    """Bytes of base, kept activations, logits, and three gathered layers if sharded."""
    weights = frozen_base_bytes(
        base.parameters,
        base.embedding_parameters,
        base.bits,
        is_double_quantized=base.is_double_quantized,
    )
    token = work.bytes_of_element * work.tokens * dimensions.layers
    if not work.keeps_activations:
        stored = 0.0
    elif work.recompute == "full":
        stored = token * dimensions.hidden_size
    else:
        stored = token * base.kept_share * layer_elements(dimensions)
    working = working_set_bytes(dimensions, work) if work.recompute == "full" else 0.0
    logits = logit_estimate(dimensions, work)
    gathered = 0.0
    if base.shard_ranks > 1:
        each = weights / base.parameters
        gathered = GATHERED_LAYERS * layer_parameters(dimensions) * each
    value = weights / base.shard_ranks + gathered
    value += stored + max(logits.value, working)
    kept = bytes_per_parameter(Scheme("bf16", base_bits=base.bits)).sum()
    activations = activation_estimate(dimensions, work, dimensions.layers)
    return Estimate(
        value,
        kept.lower * base.parameters / base.shard_ranks,
        kept.upper * base.parameters
        + 4.0 * gathered
        + activations.upper * MOST_ADAPTER_SHARE
        + logits.upper,
        "calibrated",
        ADAPTER,
        "adapters of low rank on a base in 16 or 4 bits",
    )
