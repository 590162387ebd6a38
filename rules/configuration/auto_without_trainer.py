"""A DeepSpeed file with `auto` that no Hugging Face trainer fills.

Why it hurts: transformers and accelerate replace `auto` by their own arguments before
DeepSpeed reads the file. Megatron-DeepSpeed hands it over as it is: DeepSpeed takes a
word for a number and stops, or trains with a block that it takes for enabled.

What passes: a file without `auto`.

Where it does not apply: plans of transformers and accelerate; a DeepSpeed file alone,
which does not tell who reads it.

Source: huggingface/transformers integrations/deepspeed.py (fill_match); DeepSpeed
runtime/config.py.

Bad::

    # pretrain_gpt.py --deepspeed --deepspeed_config ds.json
    "train_micro_batch_size_per_gpu": "auto"

Good::

    "train_micro_batch_size_per_gpu": 4
"""

from speccheck.validator.evidence.framework_keys import dotted
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", frameworks=("megatron-lm", "gpt-neox"))
def auto_without_trainer(stated: StatedKeys) -> Verdicts:
    """Judge the values of each DeepSpeed file that Megatron's fork reads."""
    for file in stated.files:
        if file.format != "deepspeed":
            continue
        keys = [key for key in file.keys if key.value == "auto"]
        if not keys:
            yield passed(at=[key.place for key in file.keys][:1])
            continue
        names = ", ".join(dotted(key.path) for key in keys)
        yield fail(
            f'{names} is "auto", which transformers and accelerate fill in; this '
            "launch hands it to DeepSpeed as it is",
            at=[key.place for key in keys],
            measured="auto",
            required="a value",
            cost="DeepSpeed stops at start-up",
            remedy=f"Write the value of {names} into the file.",
        )
