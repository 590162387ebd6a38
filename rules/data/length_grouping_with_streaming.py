"""Grouping by length asked for with a streamed data set.

Why it hurts: grouping needs the length of every sample before training, which a stream
cannot tell. The trainer stops with an error.

What passes: one of the two.

Where it does not apply: data that is not streamed.

Source: huggingface/transformers trainer.py (Trainer.__init__, group_by_length with an
iterable data set).

Bad::

    streaming: true
    group_by_length: true

Good::

    streaming: true
    group_by_length: false
"""

from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import Data
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", about=("data.group_by_length",))
def length_grouping_with_streaming(data: Data, stated: StatedKeys) -> Verdicts:
    """Judge the two settings together."""
    grouping, streaming = data.group_by_length, data.streaming
    if streaming.value is not True or not grouping.is_known:
        return
    at = [grouping, streaming]
    if not grouping.need():
        yield passed(at=at)
        return
    yield fail(
        "group_by_length needs the length of every sample, which a streamed data set "
        "does not have",
        at=at,
        measured="on",
        required="off",
        cost="the trainer stops at start-up",
        remedy="Turn group_by_length off, or pack the samples.",
        fix=switched(grouping, stated, on=False),
    )
