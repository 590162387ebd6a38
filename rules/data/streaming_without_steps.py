"""A streamed data set without a number of steps.

Why it hurts: a stream has no length, so that epochs mean nothing. The trainer asks for
a number of steps and stops.

What passes: max_steps is stated.

Where it does not apply: data that is not streamed; frameworks whose number of steps may
come from elsewhere.

Source: axolotl utils/schemas/validation.py (max_steps with pretraining_dataset);
huggingface/transformers trainer.py.

Bad::

    streaming: true
    num_epochs: 3

Good::

    streaming: true
    max_steps: 20000
"""

from speccheck.validator.evidence.plan import Data, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", frameworks=("axolotl",), about=("data.streaming",))
def streaming_without_steps(data: Data, run: Run) -> Verdicts:
    """Judge the steps of a run on streamed data."""
    streaming, steps = data.streaming, run.steps
    if streaming.value is not True:
        return
    if steps.places or steps.is_known:
        yield passed(at=[steps, streaming])
        return
    yield fail(
        "a streamed data set has no length: Axolotl demands max_steps beside it",
        at=[streaming, run.epochs],
        measured="not stated",
        required="max_steps",
        cost="Axolotl stops at start-up",
        remedy="State max_steps.",
    )
