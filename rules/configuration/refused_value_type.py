"""A value of a type on which the framework stops.

Why it hurts: a number in quotes reaches arithmetic as a text, and a `2e-5` without a
dot reaches the optimizer as one. The framework stops, or compares unlike things and
goes on with the wrong result.

What passes: values that load as the type that the framework expects.

Where it does not apply: frameworks that convert the text themselves.

Source: huggingface/transformers hf_argparser.py (parse_yaml_file does not convert);
DeepSpeed batch arithmetic; LLaMA-Factory issue 1116.

Bad::

    "gradient_accumulation_steps": "8"

Good::

    "gradient_accumulation_steps": 8
"""

from speccheck.validator.evidence.mending import typed
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010")
def refused_value_type(stated: StatedKeys) -> Verdicts:
    """Judge each value on whose type the framework stops."""
    for file in stated.files:
        fatal = [
            loaded_as
            for loaded_as in file.loaded_as
            if loaded_as.fatal and stated.is_replaced(loaded_as) is False
        ]
        for loaded_as in fatal:
            yield fail(
                f"you wrote {loaded_as.key}: {loaded_as.written}; the framework "
                f"sees {loaded_as.loaded}, "
                f"where it needs {loaded_as.expected}",
                at=loaded_as.place,
                measured=loaded_as.loaded,
                required=loaded_as.expected,
                cost="the framework stops, or computes with the wrong type",
                remedy=f"Write it so that it loads as {loaded_as.expected}.",
                fix=typed(loaded_as),
            )
        if not fatal and file.keys:
            yield passed()
