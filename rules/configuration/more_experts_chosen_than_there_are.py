"""More experts for each token than the model has.

Why it hurts: the router takes the best k of all experts. With fewer experts than k the
selection raises on the first step.

What passes: at least one expert and at most all of them for each token.

Where it does not apply: dense models.

Source: PyTorch torch.topk, which raises for a k out of range; NVIDIA/Megatron-LM
megatron/core/transformer/moe/moe_utils.py (topk_softmax_with_capacity).

Bad::

    --num-experts 4 --moe-router-topk 8

Good::

    --num-experts 64 --moe-router-topk 8
"""

from speccheck.validator.evidence.plan import Model
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", about=("model.experts_per_token",))
def more_experts_chosen_than_there_are(model: Model) -> Verdicts:
    """Judge 1 <= k <= experts."""
    chosen, experts = model.experts_per_token, model.experts
    if not experts.is_known and not experts.places:
        return
    count, total = chosen.need(), experts.need()
    if total <= 1:
        return
    at = [chosen, experts]
    if 1 <= count <= total:
        yield passed(at=at, measured=count, required=total)
        return
    yield fail(
        f"{count} experts for each token of a model with {total} experts: from 1 to "
        f"{total} can be chosen",
        at=at,
        measured=count,
        required=total,
        cost="the router raises on the first step",
        remedy=f"Choose at most {total} experts for each token.",
    )
