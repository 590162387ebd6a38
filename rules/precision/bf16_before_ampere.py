"""bf16 on a GPU that has no bf16 tensor cores.

Why it hurts: before compute capability 8.0 bf16 is emulated or refused. DeepSpeed and
older transformers stop; newer PyTorch runs it slower than fp32.

What passes: bf16 from compute capability 8.0 on.

Where it does not apply: the GPU is not named; bf16 is off.

Source: transformers training_args.py; DeepSpeed runtime/engine.py; PyTorch
torch.cuda.is_bf16_supported, which counts emulation since 2.3.

Bad::

    # V100, compute capability 7.0
    bf16: true

Good::

    fp16: true
"""

from speccheck.rules.precision._capability import capability, dotted
from speccheck.validator.evidence.plan import Cluster, Precision
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Support(Numbers):
    """The first compute capability with bf16 tensor cores."""

    bf16_cc: float


@rule(clause="PREC-003", about=("precision.bf16",))
def bf16_before_ampere(
    precision: Precision, cluster: Cluster, limit: Support
) -> Verdicts:
    """Judge bf16 against the GPU."""
    if not precision.bf16.value:
        return
    generation = cluster.compute_capability.need()
    at = (precision.bf16, cluster.compute_capability)
    text, required = dotted(generation), dotted(capability(limit.bf16_cc))
    if generation >= capability(limit.bf16_cc):
        yield passed(at=at, measured=text, required=required)
        return
    yield fail(
        f"bf16 is on, and the GPU has compute capability {text}; bf16 tensor cores "
        f"come with {required}",
        at=at,
        measured=text,
        required=required,
        cost="the framework stops at start-up, or emulates bf16 slower than fp32",
        remedy="Use fp16 with dynamic loss scaling on this GPU.",
    )
