"""Flash attention in a model that computes in fp32.

Why it hurts: the kernels of FlashAttention take fp16 and bf16 alone. With fp32 the
first forward pass raises, or the framework stops at start-up.

What passes: bf16, fp16 or fp8 with flash attention.

Where it does not apply: other backends; a precision that is only a default; the
Trainer of Hugging Face and what builds on it, whose models may load in bf16 whatever
the trainer is told.

Source: EleutherAI/gpt-neox megatron/model/transformer.py and allenai/OLMo (flash
attention needs 16 bits); Dao-AILab/flash-attention README (fp16 and bf16).

Bad::

    precision: fp32
    model: {flash_attention: true}

Good::

    precision: amp_bf16
    model: {flash_attention: true}
"""

from speccheck.validator.evidence.plan import Kernels, Precision
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="KERN-001",
    frameworks=("gpt-neox", "llm-foundry", "olmo"),
    about=("kernels.attention_backend",),
)
def flash_attention_in_full_precision(
    kernels: Kernels, precision: Precision
) -> Verdicts:
    """Judge the compute type beside flash attention."""
    backend, dtype = kernels.attention_backend, precision.compute_dtype
    if backend.value != "flash" or not dtype.places or not dtype.is_known:
        return
    at = [backend, dtype]
    if dtype.need() != "fp32":
        yield passed(at=at, measured=dtype.need())
        return
    yield fail(
        "flash attention is chosen and the model computes in fp32; its kernels take "
        "fp16 and bf16",
        at=at,
        measured="fp32",
        required="bf16",
        cost="the first forward pass raises",
        remedy="Compute in bf16, or choose SDPA.",
    )
