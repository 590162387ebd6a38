"""An 8-bit optimizer with FSDP parameter offload in Axolotl.

Why it hurts: with offload the optimizer step runs on the CPU, and the kernels of 8-bit
optimizers run on CUDA only. The validator refuses the pair.

What passes: offload with a 32-bit or 16-bit optimizer, or an 8-bit one without offload.

Where it does not apply: FSDP2; other engines.

Source: axolotl utils/schemas/validation.py (check_fsdp_offload_w_8bit_optimizer).

Bad::

    optimizer: adamw_bnb_8bit
    fsdp_config:
      offload_params: true

Good::

    optimizer: adamw_torch_fused
    fsdp_config:
      offload_params: true
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Memory, Optimizer, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_ON_THE_PROCESSOR = "adamw_torch_fused"


@rule(clause="CONF-006", frameworks=("axolotl",))
def eight_bit_optimizer_with_parameter_offload(
    memory: Memory,
    optimizer: Optimizer,
    parallelism: Parallelism,
    stated: StatedKeys,
) -> Verdicts:
    """Judge the optimizer where FSDP1 offloads parameters."""
    device = memory.parameter_offload_device
    if device.or_else("none") == "none" or parallelism.engine.value != "fsdp1":
        return
    name = optimizer.name_of_optimizer.need()
    at = [optimizer.name_of_optimizer, device]
    if "8bit" not in name:
        yield passed(at=at)
        return
    yield fail(
        f"optimizer {name} runs on CUDA only, and FSDP offloads its parameters to the "
        f"{device.value}",
        at=at,
        cost="the validator refuses the file at start-up",
        remedy=f"Use {_ON_THE_PROCESSOR}, or turn offload_params off.",
        fix=rewritten(optimizer.name_of_optimizer, _ON_THE_PROCESSOR, stated)
        if name.startswith("adam")
        else None,
    )
