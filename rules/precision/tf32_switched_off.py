"""fp32 matrix products without TF32 on a GPU that has it.

Why it hurts: from Ampere on, fp32 products run on tensor cores only in TF32. Switched
off, they take about eight times as long on A100 (156 against 19.5 TFLOPS).

What passes: TF32 on, or compute in 16 bits, where little fp32 work is left.

Where it does not apply: the GPU is not named or older; TF32 is not mentioned.

Source: NVIDIA A100 data sheet; transformers training_args.py (tf32); NVIDIA cuBLAS
documentation (NVIDIA_TF32_OVERRIDE).

Bad::

    bf16: false
    tf32: false

Good::

    tf32: true
"""

from speccheck.rules.precision._capability import capability, dotted
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import switched, without_variables
from speccheck.validator.evidence.plan import Cluster, Precision
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_OVERRIDE = "NVIDIA_TF32_OVERRIDE"


class Support(Numbers):
    """The first compute capability with TF32."""

    tf32_cc: float


@rule(clause="PREC-007", confidence="advisory")
def tf32_switched_off(
    precision: Precision,
    cluster: Cluster,
    environment: Environment,
    stated: StatedKeys,
    limit: Support,
) -> Verdicts:
    """Judge the switch and the variable where products are in fp32."""
    generation = cluster.compute_capability.need()
    if generation < capability(limit.tf32_cc):
        return
    compute, switch = precision.compute_dtype, precision.tf32
    override = environment.find(_OVERRIDE)
    is_overridden = override is not None and override.value == "0"
    if compute.value != "fp32" and not is_overridden:
        return
    if switch.value is not False and not is_overridden:
        if switch.value:
            yield passed(at=[switch, compute])
        return
    if override is not None and is_overridden:
        at, text = [override.place], f"{_OVERRIDE} is 0"
    else:
        at, text = list(switch.places), "tf32 is off and compute is in fp32"
    yield fail(
        f"{text}, and the GPU (compute capability {dotted(generation)}) has TF32",
        at=at,
        cost="fp32 matrix products run without tensor cores, some eight times slower",
        remedy="Turn TF32 on: tf32 true, torch.set_float32_matmul_precision('high'), "
        f"and no {_OVERRIDE}.",
        fix=without_variables([override])
        if override is not None and is_overridden
        else switched(switch, stated, on=True),
    )
