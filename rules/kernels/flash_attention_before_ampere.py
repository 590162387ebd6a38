"""FlashAttention 2 on a GPU before Ampere.

Why it hurts: its kernels are built for compute capability 8.0 and up. On an older GPU
the first forward pass raises.

What passes: flash attention from 8.0 on.

Where it does not apply: other backends; the GPU is not named.

Source: Dao-AILab/flash-attention README (Ampere, Ada and Hopper GPUs).

Bad::

    # V100, compute capability 7.0
    attn_implementation: flash_attention_2

Good::

    attn_implementation: sdpa
"""

from speccheck.validator.evidence.plan import Cluster, Kernels
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Support(Numbers):
    """The first compute capability that flash attention is built for."""

    flash_cc: float


@rule(clause="KERN-001", about=("cluster.compute_capability",))
def flash_attention_before_ampere(
    kernels: Kernels, cluster: Cluster, limit: Support
) -> Verdicts:
    """Judge the backend where the GPU is named."""
    backend, generation = kernels.attention_backend, cluster.compute_capability
    if backend.value != "flash" or not generation.is_known:
        return
    major, minor = generation.need()
    text, required = f"{major}.{minor}", f"{limit.flash_cc:.1f}"
    at = (backend, generation)
    if major >= int(limit.flash_cc):
        yield passed(at=at, measured=text, required=required)
        return
    yield fail(
        f"flash attention needs compute capability {required}, and the GPU has {text}",
        at=at,
        measured=text,
        required=required,
        cost="the first forward pass raises",
        remedy="Use SDPA (attn_implementation: sdpa), which has a kernel for this GPU.",
    )
