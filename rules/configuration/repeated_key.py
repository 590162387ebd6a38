"""The same key twice in one mapping, with the same value.

Why it hurts: the run is right today. Whoever changes one of the lines tomorrow may
change the one that does not count.

What passes: every key once.

Where it does not apply: frameworks that refuse the file, and keys whose two values
differ: those are judged by duplicate_key.

Source: PyYAML and json keep the last value.

Bad::

    micro_batch_size: 4
    micro_batch_size: 4

Good::

    micro_batch_size: 4
"""

from speccheck.validator.evidence.finding import Fix, to_remove
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-005", confidence="advisory")
def repeated_key(stated: StatedKeys) -> Verdicts:
    """Judge keys that stand twice alike, where the loader takes either."""
    for file in stated.files:
        if file.keys and not file.twice:
            yield passed()
        for twice_stated_key in file.twice:
            if twice_stated_key.is_equal and not file.refuses_duplicates:
                yield fail(
                    f"{twice_stated_key.key} is stated twice with the same value",
                    at=[twice_stated_key.again, twice_stated_key.first],
                    measured="twice",
                    required="once",
                    cost="a later change of the first line has no effect",
                    remedy="Remove one of the two lines.",
                    fix=Fix(
                        f"delete the first {twice_stated_key.key}",
                        (to_remove(twice_stated_key.first),),
                    ),
                )
