"""Compilation off and nothing fused in a job of many GPUs.

Why it hurts: normalisation, activation and cross entropy are bound by memory bandwidth.
Unfused they can take a third of the step, on every GPU of the job.

What passes: torch.compile, or fused normalisation or cross entropy.

Where it does not apply: small jobs; debugging. Megatron-LM and others that fuse by
default do not state compilation and are omitted.

Source: torchtitan performance documentation; Liger-Kernel (arXiv:2410.10989).

Bad::

    # 128 GPUs
    [compile]
    enable = false

Good::

    [compile]
    enable = true
"""

from speccheck.validator.evidence.plan import Cluster, Kernels, Run
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Scale(Numbers):
    """From how many GPUs on fusion is asked for."""

    fused_from_gpus: int


@rule(clause="KERN-003", confidence="advisory")
def unfused_kernels_at_scale(
    kernels: Kernels, cluster: Cluster, run: Run, limit: Scale
) -> Verdicts:
    """Judge compilation and the fused kernels together."""
    if run.role.value == "debug" or not kernels.compiled.is_known:
        return
    world_size = cluster.world_size.need()
    if world_size < limit.fused_from_gpus:
        return
    fused = (
        kernels.compiled,
        kernels.fused_normalization,
        kernels.fused_cross_entropy,
    )
    if any(kernel.value for kernel in fused):
        yield passed(at=[kernel for kernel in fused if kernel.value])
        return
    kernels.compiled.need_stated()
    yield fail(
        f"compilation is off and no kernel is fused on {world_size:,} GPUs; from "
        f"{limit.fused_from_gpus} on one of them should be on",
        at=[*fused, cluster.world_size],
        measured=world_size,
        required=limit.fused_from_gpus,
        cost="element-wise operations can take a third of the step",
    )
