"""Megatron-LM checkpoints that load at the same parallelism only.

Why it hurts: with a save that is not parallel, the states of the distributed optimizer
are written in the layout of this run. Another number of GPUs, or another degree, cannot
load them. Megatron-LM prints a warning at start-up.

What passes: the parallel save, which is the default.

Where it does not apply: without the distributed optimizer; other frameworks.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args,
--no-ckpt-fully-parallel-save).

Bad::

    --use-distributed-optimizer --no-ckpt-fully-parallel-save

Good::

    --use-distributed-optimizer
"""

from speccheck.validator.evidence.mending import without_keys
from speccheck.validator.evidence.plan import Optimizer, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_SERIAL = "--no-ckpt-fully-parallel-save"


@rule(
    clause="CKPT-031", frameworks=("megatron-lm",), about=("optimizer.is_distributed",)
)
def save_bound_to_parallelism(
    optimizer: Optimizer, run: Run, stated: StatedKeys
) -> Verdicts:
    """Judge the parallel save beside the distributed optimizer."""
    sharded = optimizer.is_distributed
    if sharded.value is not True or run.is_trial:
        return
    stated_keys = [
        key for file in stated.files for key in file.keys if key.path == (_SERIAL,)
    ]
    if not stated_keys:
        if any(file.format == "megatron-cli" for file in stated.files):
            yield passed(at=sharded)
        return
    yield fail(
        f"{_SERIAL} with the distributed optimizer: checkpoints load at the same "
        f"parallelism only",
        at=[*(key.place for key in stated_keys), sharded],
        measured="not parallel",
        required="parallel",
        cost="the run cannot go on with other degrees, or on another number of GPUs",
        remedy=f"Delete {_SERIAL}.",
        fix=without_keys(stated_keys),
    )
