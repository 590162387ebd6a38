"""Packed samples that the attention does not keep apart.

Why it hurts: several samples share one sequence. Without boundaries each attends to
those before it, so that the model learns from unrelated text, and evaluation that is
not packed gives another loss.

What passes: a backend that knows the boundaries (flash, flex, xformers; in Axolotl
SDPA and eager as well), or `neat_packing` in LLaMA-Factory.

Where it does not apply: nothing is packed; pre-training, whose samples follow each
other by design; other frameworks.

Source: axolotl utils/schemas/validation.py (check_sample_packing_without_attention);
LLaMA-Factory hparams/data_args.py (neat_packing); axolotl issue 449.

Bad::

    packing: true             # LLaMA-Factory, stage sft

Good::

    neat_packing: true
"""

from speccheck.validator.evidence.plan import Batch, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule

_TUNING = frozenset({"sft", "lora"})
# Switches of Axolotl for backends that know the boundaries; in attn_implementation any.
_BACKENDS = (
    "attn_implementation",
    "flash_attention",
    "flex_attention",
    "xformers_attention",
    "sage_attention",
    "sdp_attention",
    "eager_attention",
)


@rule(
    clause="DATA-020",
    confidence="advisory",
    frameworks=("axolotl", "llamafactory"),
    about=("batch.packing",),
)
def packing_without_boundaries(batch: Batch, run: Run, stated: StatedKeys) -> Verdicts:
    """Judge what keeps packed samples apart."""
    packing = batch.packing
    if packing.value is not True or not packing.places:
        return
    for file in stated.files:
        keys = {key.path[0]: key for key in file.keys if len(key.path) == 1}
        if file.format == "llamafactory" and run.role.value in _TUNING:
            neat = keys.get("neat_packing")
            is_apart = neat is not None and neat.value is True
            yield _verdict(packing.places, is_apart, "neat_packing: true")
        elif file.format == "axolotl":
            chosen = [keys[name] for name in _BACKENDS if name in keys]
            is_apart = any(stated_key.value for stated_key in chosen)
            yield _verdict(
                packing.places, is_apart, "attn_implementation: flash_attention_2"
            )


def _verdict(places: tuple[Place, ...], is_apart: bool, wanted: str) -> Verdict:  # noqa: FBT001
    if is_apart:
        return passed(at=places)
    return fail(
        "samples are packed into one sequence and nothing keeps them apart",
        at=places,
        measured="no boundaries",
        required=wanted,
        cost="each sample attends to unrelated ones before it",
        remedy=f"Set {wanted}.",
    )
