"""One checkpoint tier on a very large cluster.

Why it hurts: with a failure every few hours the best interval is minutes, which the
remote store cannot serve. A tier in memory or on the node takes the frequent saves.

What passes: a local tier with an interval, beside the remote one.

Where it does not apply: jobs below the size class of the clause; frameworks whose files
do not state local tiers stay unknown.

Source: NVIDIA/Megatron-LM --non-persistent-save-interval; AI-Hypercomputer/maxtext
local_checkpoint_period.

Bad::

    --save /ckpt --save-interval 500

Good::

    --save /ckpt --persistent-save-interval 2000 --non-persistent-save-interval 100
"""

from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.forecast.checkpointing import time_between_failures
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Verdicts, fail, passed, rule

# Their files state the local tier, where there is one.
_WITH_TIERS = frozenset({"megatron-lm", "megatron-bridge", "maxtext", "native"})


@rule(clause="CKPT-007", confidence="calibrated")
def single_checkpoint_tier(
    plan: TrainingPlan, checkpoint: Checkpoint, run: Run
) -> Verdicts:
    """Judge whether a local tier stands beside the remote one."""
    if checkpoint.enabled.value is False:
        return
    every, local = checkpoint.interval_steps, checkpoint.local_interval_steps
    if not local.is_known and (local.note or local.places):
        local.need()
    if local.is_known:
        yield passed(at=[local, checkpoint.local_directory])
        return
    if not every.places or run.framework.value not in _WITH_TIERS:
        local.need()
    mtbf = time_between_failures(plan).need()
    yield fail(
        f"all saves go to one store; with a failure every {duration(mtbf.value)} a "
        f"tier in memory or on the node should take the frequent ones",
        at=[every, checkpoint.directory],
        measured="one tier",
        required="a local and a remote tier",
        cost="saves are too slow to come often enough, and each failure repeats more",
    )
