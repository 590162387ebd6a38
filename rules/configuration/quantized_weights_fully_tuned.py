"""All weights of a quantized model trained in LLaMA-Factory.

Why it hurts: quantized weights are integers that no gradient step can move. The
argument parser refuses the pair, once the job holds its GPUs and has imported torch.

What passes: adapters (LoRA, OFT) on a quantized model; full training of one that is
loaded as it is.

Where it does not apply: models that are not quantized; other frameworks.

Source: LLaMA-Factory src/llamafactory/hparams/parser.py (_verify_model_args).

Bad::

    quantization_bit: 4
    finetuning_type: full

Good::

    quantization_bit: 4
    finetuning_type: lora
"""

from speccheck.validator.evidence.plan import Model, Run
from speccheck.validator.models.training_memory import HALF_PRECISION_BITS
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006", frameworks=("llamafactory",), about=("model.quantized_bits",))
def quantized_weights_fully_tuned(model: Model, run: Run) -> Verdicts:
    """Judge what is trained of a quantized model."""
    bits = model.quantized_bits
    is_whole = bits.or_else(HALF_PRECISION_BITS) >= HALF_PRECISION_BITS
    if is_whole or run.role.value == "conversion":
        return
    adapter = model.adapter.need()
    at = [model.adapter, bits]
    if adapter not in {"none", "freeze"}:
        yield passed(at=at, measured=adapter)
        return
    yield fail(
        f"the model is quantized to {bits.value} bits, and its own weights are to be "
        "trained; quantization works with LoRA and OFT only",
        at=at,
        measured="full",
        required="lora",
        cost="LLaMA-Factory refuses its arguments at start-up",
        remedy="Set finetuning_type: lora, or load the model without quantization_bit.",
    )
