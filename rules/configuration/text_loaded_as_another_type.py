"""A text that its loader reads as another type than it looks like.

Why it hurts: YAML 1.1 takes `2e-5` for a text and `no` for false. The framework then
works with something else than the file seems to say.

What passes: values that load as the type that the framework expects, also by its own
conversion. Where the framework stops on the value, refused_value_type tells it.

Where it does not apply: formats without types.

Source: YAML 1.1 (no dot, no float); the converters of each framework.

Bad::

    eval_strategy: no

Good::

    eval_strategy: "no"
"""

from speccheck.validator.evidence.mending import typed
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-007")
def text_loaded_as_another_type(stated: StatedKeys) -> Verdicts:
    """Judge each value that loads as another type and does no lasting harm."""
    for file in stated.files:
        harmless = [
            loaded_as
            for loaded_as in file.loaded_as
            if not loaded_as.fatal or stated.is_replaced(loaded_as) is None
        ]
        for loaded_as in harmless:
            unless = loaded_as.unless
            stops = f", and stops unless the launch gives {unless}" if unless else ""
            yield fail(
                f"you wrote {loaded_as.key}: {loaded_as.written}; the framework "
                f"sees {loaded_as.loaded}, "
                f"where it expects {loaded_as.expected}{stops}",
                at=loaded_as.place,
                measured=loaded_as.loaded,
                required=loaded_as.expected,
                cost="the value is not the one that is written",
                fix=typed(loaded_as, because="same meaning"),
            )
        if not harmless:
            yield passed()
