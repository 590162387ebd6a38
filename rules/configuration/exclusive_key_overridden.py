"""A key that another key of the same file overrides.

Why it hurts: the framework goes on with one of the two and says little or nothing. The
other one stands in the file as if it were in force.

What passes: one key of each group.

Where it does not apply: groups that the framework refuses (mutually_exclusive_keys).

Source: the exclusive groups of the key tables, with a note of what the framework does.

Bad::

    warmup_steps: 100
    warmup_ratio: 0.03      # steps win

Good::

    warmup_steps: 100
"""

from speccheck.rules.configuration._exclusive import stated_together
from speccheck.validator.evidence.mending import without_keys
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006", confidence="advisory")
def exclusive_key_overridden(stated: StatedKeys) -> Verdicts:
    """Judge each group in which one key wins."""
    for file in stated.files:
        if file.catalogue is None:
            continue
        stated_togethers = list(stated_together(file, "warned", "overridden"))
        for item in stated_togethers:
            yield fail(
                f"{item.names} are both stated; {item.group.note}",
                at=[key.place for key in item.keys],
                measured=len(item.keys),
                required=1,
                cost="one of the two has no effect",
                fix=without_keys(item.losing, is_safe=True),
            )
        if not stated_togethers:
            yield passed()
