"""A share of a streamed data set held back for validation.

Why it hurts: a stream has no length of which a share could be taken. The framework
stops before it trains.

What passes: a data set of its own for evaluation; in LLaMA-Factory also a number of
samples.

Where it does not apply: data that is not streamed; other frameworks.

Source: axolotl utils/schemas/validation.py (check_streaming_w_val_set_size,
check_pretraining_w_val_set_size); LLaMA-Factory hparams/data_args.py (__post_init__).

Bad::

    streaming: true
    val_set_size: 0.05

Good::

    streaming: true
    val_set_size: 0
"""

from speccheck.validator.evidence.plan import Data
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_SPLITS = {"axolotl": "val_set_size", "llamafactory": "val_size"}


@rule(
    clause="CONF-010",
    frameworks=("axolotl", "llamafactory"),
    about=("data.streaming",),
)
def validation_split_of_a_stream(data: Data, stated: StatedKeys) -> Verdicts:
    """Judge the split of a plan that streams its data."""
    streaming = data.streaming
    if streaming.value is not True:
        return
    for file in stated.files:
        name = _SPLITS.get(file.format)
        split = next((key for key in file.keys if key.path == (name,)), None)
        if name is None or split is None or not _is_number(split.value):
            continue
        at = [split.place, *streaming.places]
        size = float(str(split.value))
        is_share = 0 < size < 1
        if not is_share and (not size or file.format == "llamafactory"):
            yield passed(at=at, measured=size)
            continue
        yield fail(
            f"{name} is {size:g} with streamed data, of which no share can be taken",
            at=at,
            measured=size,
            required=0,
            cost="the framework stops at start-up",
            remedy=f"Set {name} to 0 and name a data set for evaluation.",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
