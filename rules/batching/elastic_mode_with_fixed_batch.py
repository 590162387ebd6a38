"""DeepSpeed elasticity enabled beside fixed batch keys.

Why it hurts: elastic mode works out the batch from the number of GPUs and refuses keys
that fix it.

What passes: elasticity alone, or with ignore_non_elastic_batch_info set to true.

Where it does not apply: elasticity off; other frameworks.

Source: DeepSpeed runtime/config.py (DeepSpeedConfig.__init__, elasticity).

Bad::

    "train_batch_size": 1536,
    "elasticity": {"enabled": true, "max_train_batch_size": 2000}

Good::

    "elasticity": {"enabled": true, "max_train_batch_size": 2000}
"""

from speccheck.validator.evidence.mending import without_keys
from speccheck.validator.evidence.plan import Batch
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FIXED = (
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
)
_IGNORED = ("elasticity", "ignore_non_elastic_batch_info")


@rule(clause="BATCH-002", about=("batch.mode",))
def elastic_mode_with_fixed_batch(batch: Batch, stated: StatedKeys) -> Verdicts:
    """Judge the batch keys of each DeepSpeed file of an elastic plan."""
    if batch.mode.value != "elastic":
        return
    for file in stated.files:
        if file.format != "deepspeed":
            continue
        fixed = [
            key for key in file.keys if len(key.path) == 1 and key.path[0] in _FIXED
        ]
        ignored = [key for key in file.keys if key.path == _IGNORED]
        if not fixed or any(key.value is True for key in ignored):
            yield passed(at=batch.mode)
            continue
        names = ", ".join(str(key.path[0]) for key in fixed)
        yield fail(
            f"{names} fixes the batch, which elasticity works out from the GPUs",
            at=[*(key.place for key in fixed), batch.mode],
            cost="DeepSpeed stops at start-up",
            remedy=f"Remove {names}, or set elasticity.ignore_non_elastic_batch_info "
            "to true.",
            fix=without_keys(fixed),
        )
