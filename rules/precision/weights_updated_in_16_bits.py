"""Pretraining with weights in 16 bits and no fp32 copy of them.

Why it hurts: a bf16 weight keeps 8 bits of its value. Once the updates are smaller than
half its last bit they round to nothing, and the loss stops falling while everything
looks healthy.

What passes: fp32 weights that are cast for compute, engines that keep an fp32 copy
(DeepSpeed, Megatron-LM), or an optimizer that does (nanotron with
accumulate_grad_in_fp32).

Where it does not apply: fine-tuning and other short runs; adapters; weights whose
format is only a default.

Source: pytorch/torchtitan torchtitan/config/configs.py (training.dtype bfloat16 keeps
no fp32 copy of the weights); Rae et al. 2021 (arXiv:2112.11446), appendix on bfloat16
training with and without fp32 state.

Bad::

    [training]
    dtype = "bfloat16"

Good::

    [training]
    dtype = "float32"
    mixed_precision_param = "bfloat16"
"""

from speccheck.validator.evidence.plan import Model, Parallelism, Precision, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule

_HALF = ("bf16", "fp16")
_KEEP_A_COPY = ("deepspeed", "megatron", "megatron-fsdp")


@rule(clause="PREC-020", confidence="advisory", about=("precision.parameter_dtype",))
def weights_updated_in_16_bits(
    precision: Precision, parallelism: Parallelism, model: Model, run: Run
) -> Verdicts:
    """Judge the format of the weights where nothing keeps a copy."""
    if model.adapter.or_else("none") != "none":
        return
    weights, engine = precision.parameter_dtype, parallelism.engine
    text = weights.need()
    state = precision.optimizer_state_dtype
    keeps_a_copy = engine.value in _KEEP_A_COPY or (
        run.framework.value == "nanotron" and state.value == "fp32"
    )
    if text not in _HALF or keeps_a_copy:
        yield passed(at=[weights, state, engine], measured=text)
        return
    weights.need_stated()
    yield fail(
        f"weights are kept and updated in {text}, without a copy in fp32",
        at=[weights, state],
        measured=text,
        required="fp32",
        cost="late in the run updates round to nothing",
    )
