"""Checkpointing inside the model under full FSDP sharding.

Why it hurts: gradient_checkpointing recomputes inside of the layer that FSDP wraps. The
weights of the layer are gathered once more for it in each backward pass, half again as
much traffic as needed.

What passes: FSDP's own activation_checkpointing, or shards that are not gathered again.

Where it does not apply: FSDP that accelerate or another file sets up; other engines.

Source: huggingface/transformers src/transformers/training_args.py, which warns of the
redundant all-gather; transformers issue 30404.

Bad::

    fsdp: full_shard auto_wrap
    gradient_checkpointing: true

Good::

    fsdp: full_shard auto_wrap
    fsdp_config:
      activation_checkpointing: true
"""

from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_GATHERED = ("full_shard", "hybrid_shard")


@rule(clause="MEM-031", confidence="advisory", frameworks=("transformers",))
def checkpointing_beside_full_shard(stated: StatedKeys) -> Verdicts:
    """Judge the two keys of TrainingArguments in each file."""
    for file in stated.files:
        keys = {key.path: key for key in file.keys}
        shard, inside = keys.get(("fsdp",)), keys.get(("gradient_checkpointing",))
        if shard is None or not any(name in str(shard.value) for name in _GATHERED):
            continue
        if inside is None or inside.value is not True:
            yield passed(at=shard.place)
            continue
        yield fail(
            f"gradient_checkpointing is on and fsdp is {shard.value!s:.40}: the layer "
            "is gathered once more to recompute it",
            at=[inside.place, shard.place],
            cost="a redundant all-gather of each layer in the backward pass",
        )
