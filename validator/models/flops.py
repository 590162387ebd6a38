"""Floating-point operations of training, by the conventions that publications use.

The same run differs by a tenth between two of them, so a number means nothing without
the name of its convention. Each reproduces published figures: palm 218 rows of
llm-foundry, PaLM and MegaScale, nemo 192 rows of Megatron-Bridge and MLPerf logs,
torchtitan 4, nemo-lora 5, the step formulas of Megatron-LM 61 (tests/test_speed.py).
"""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, exactly

Convention = Literal["palm", "torchtitan", "nemo", "nemo-lora"]

# A matrix product of one weight and one token: a product and a sum, forward once,
# backward twice, for inputs and for weights. A frozen weight needs no gradient.
_TRAINED, _FROZEN = 6, 4
# Attention scores and their use, each a product and a sum, forward and backward.
_FULL_ATTENTION, _CAUSAL_ATTENTION = 12, 6

SOURCES: dict[str, str] = {
    "palm": "PaLM (arXiv:2204.02311) appendix B: 6 P + 12 L w s",
    "torchtitan": "pytorch/torchtitan: 6 (P - E) + 12 L w s",
    "nemo": "NVIDIA-NeMo/Megatron-Bridge: 6 (P - E) + 6 L w s",
    "nemo-lora": "NVIDIA-NeMo/Megatron-Bridge: 4 (P - E)",
}
_NARAYANAN = "Narayanan et al. 2021 (arXiv:2104.04473) equation 3"
_KORTHIKANTI = "Korthikanti et al. 2022 (arXiv:2205.05198) equation 7"


class TokenWork(Record):
    """What one token passes through.

    Attributes:
        parameters: that take part in its matrix products: all of a dense model; of a
            mixture of experts `matmul_parameters`, with no embedding to take off.
        embedding_parameters: of one embedding, vocabulary x hidden size.
        layers: with attention; a multi-token-prediction layer counts as one.
        attention_width: heads x head dimension; of multi-head latent attention
            `latent_attention_width`. Not the hidden size: PaLM has 12,288 of 18,432.
        sequence_length: tokens that attention spans.

    """

    parameters: float
    embedding_parameters: float
    layers: int
    attention_width: float
    sequence_length: int


def flops_per_token(convention: Convention, work: TokenWork) -> Estimate:
    """Return the operations of forward and backward pass for one token: an identity."""
    without = work.parameters - work.embedding_parameters
    scores = work.layers * work.attention_width * work.sequence_length
    value = {
        "palm": _TRAINED * work.parameters + _FULL_ATTENTION * scores,
        "torchtitan": _TRAINED * without + _FULL_ATTENTION * scores,
        "nemo": _TRAINED * without + _CAUSAL_ATTENTION * scores,
        "nemo-lora": _FROZEN * without,
    }[convention]
    return exactly(value, SOURCES[convention])


class Mixture(Record):
    """What a mixture of experts puts in the place of one feed-forward block."""

    experts: int
    per_token: int
    size: int
    shared_size: int = 0


class Layers(Record):
    """The matrices of a decoder. Widths are heads x head dimension.

    feed_forward: its width, or a mixture of gated experts.
    """

    count_of_layers: int
    hidden_size: int
    query_width: int
    key_value_width: int
    feed_forward: int | Mixture
    is_gated: bool = True

    @property
    def multiplying(self) -> int:
        """Parameters of all layers that multiply one token: no norms, no biases."""
        hidden = self.hidden_size
        attention = 2 * hidden * (self.query_width + self.key_value_width)
        if isinstance(self.feed_forward, int):
            chosen = (3 if self.is_gated else 2) * hidden * self.feed_forward
        else:
            of = self.feed_forward
            chosen = 3 * hidden * (of.per_token * of.size + of.shared_size)
            chosen += hidden * of.experts  # the router
        return self.count_of_layers * (attention + chosen)

    @property
    def of_experts(self) -> int:
        """Parameters of all experts that a router chooses from."""
        if isinstance(self.feed_forward, int):
            return 0
        of = self.feed_forward
        return self.count_of_layers * 3 * self.hidden_size * of.experts * of.size


def matmul_parameters(layers: Layers, vocabulary_size: int) -> int:
    """Return the parameters that multiply one token, those of the output head included.

    An input embedding is looked up: it multiplies nothing.
    """
    return layers.multiplying + vocabulary_size * layers.hidden_size


def latent_attention_width(
    heads: int, key_dimension: int, value_dimension: int
) -> float:
    """Return the width of multi-head latent attention: of scores and of their use."""
    return heads * (key_dimension + value_dimension) / 2


class TrainingStep(Record):
    """One optimizer step of a GPT model whose feed-forward size is 4 x hidden."""

    samples: int
    sequence_length: int
    layers: int
    hidden_size: int
    vocabulary_size: int


def megatron_model_flops(step: TrainingStep) -> Estimate:
    """Return the model FLOPs of a step, as Megatron-LM's papers count them for MFU."""
    return exactly(_gpt_flops(step, 72, 12), _KORTHIKANTI)


def recomputed_flops(step: TrainingStep) -> Estimate:
    """Return the hardware FLOPs of a step with full recomputation: one more forward."""
    return exactly(_gpt_flops(step, 96, 16), _NARAYANAN)


def _gpt_flops(step: TrainingStep, per_layer: int, per_head: int) -> float:
    hidden = step.hidden_size
    tokens = step.samples * step.sequence_length
    attention = step.sequence_length / (6 * hidden)
    head = step.vocabulary_size / (per_head * step.layers * hidden)
    return per_layer * tokens * step.layers * hidden**2 * (1 + attention + head)
