"""A large pretraining run without a seed.

Why it hurts: torchtitan draws a seed of its own where none is stated. A loss spike can
then not be reproduced, and a restart begins with other random numbers.

What passes: a stated seed.

Where it does not apply: frameworks with a fixed default; small jobs and fine-tuning.

Source: pytorch/torchtitan torchtitan/config (debug.seed, default none) and
distributed/utils.py (set_determinism).

Bad::

    [training]
    steps = 100000

Good::

    [debug]
    seed = 42
"""

from speccheck.validator.evidence.plan import Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="DATA-022", confidence="advisory", frameworks=("torchtitan",))
def seed_not_stated(run: Run) -> Verdicts:
    """Judge whether the seed is stated."""
    if run.seed.is_known:
        yield passed(at=run.seed)
        return
    if run.seed.note or run.seed.places:
        run.seed.need()
    yield fail(
        "no seed is stated, and torchtitan draws another one at each start",
        at=run.framework,
        measured="none",
        required="a seed",
        cost="a loss spike cannot be reproduced",
        remedy="State debug.seed.",
    )
