"""fp16 on a GPU that has bf16.

Why it hurts: fp16 overflows above 65,504. The loss scaler then skips steps, and a scale
that sinks to its minimum ends the run. bf16 has the range of fp32 at the same speed.

What passes: bf16 or fp8.

Where it does not apply: the GPU is not named or older than compute capability 8.0.

Source: NVIDIA Ampere architecture; deepspeedai/DeepSpeed issues 697, 1356, 5426 (runs
that die at the minimum loss scale).

Bad::

    # A100
    "fp16": {"enabled": true}

Good::

    "bf16": {"enabled": true}
"""

from speccheck.rules.precision._capability import capability, dotted
from speccheck.validator.evidence.plan import Cluster, Precision
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Support(Numbers):
    """The first compute capability with bf16 tensor cores."""

    bf16_cc: float


@rule(clause="PREC-003", confidence="advisory")
def fp16_where_bf16_runs(
    precision: Precision, cluster: Cluster, limit: Support
) -> Verdicts:
    """Judge fp16 against the GPU."""
    if cluster.compute_capability.need() < capability(limit.bf16_cc):
        return
    compute = precision.compute_dtype
    text = compute.need()
    at = (precision.fp16, compute, cluster.compute_capability)
    if text != "fp16":
        yield passed(at=at, measured=text)
        return
    generation = dotted(cluster.compute_capability.need())
    yield fail(
        f"fp16 is on, and the GPU (compute capability {generation}) has bf16",
        at=at,
        measured=text,
        required="bf16",
        cost="overflow skips steps, and a loss scale at its minimum ends the run",
    )
