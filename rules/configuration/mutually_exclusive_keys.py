"""Keys together that the framework refuses together.

Why it hurts: the framework stops at start-up, after the allocation has been granted.

What passes: one key of each group. A key that is switched off, zero or left to `auto`
counts as not stated.

Where it does not apply: fp16 beside bf16 and elastic batches, which have rules of their
own; groups in which one key silently wins (exclusive_key_overridden).

Source: the exclusive groups of the key tables, each from the framework's own validator.

Bad::

    saves_per_epoch: 1
    save_steps: 250

Good::

    save_steps: 250
"""

from speccheck.rules.configuration._exclusive import stated_together
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006")
def mutually_exclusive_keys(stated: StatedKeys) -> Verdicts:
    """Judge each group that the framework refuses."""
    for file in stated.files:
        if file.catalogue is None:
            continue
        stated_togethers = list(stated_together(file, "refused"))
        for item in stated_togethers:
            reason = f" ({item.group.note})" if item.group.note else ""
            yield fail(
                f"{item.names} exclude each other{reason}",
                at=[key.place for key in reversed(item.keys)],
                measured=len(item.keys),
                required=1,
                cost="the framework stops at start-up",
            )
        if not stated_togethers:
            yield passed()
