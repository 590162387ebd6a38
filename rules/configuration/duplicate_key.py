"""The same key twice in one mapping.

Why it hurts: most loaders keep the last value without a word, DeepSpeed refuses the
file. Whoever edits the first line changes nothing.

What passes: every key once.

Where it does not apply: formats without mappings.

Source: deepspeedai/DeepSpeed runtime/config_utils.py
(dict_raise_error_on_duplicate_keys); PyYAML and json keep the last value.

Bad::

    micro_batch_size: 2
    micro_batch_size: 4

Good::

    micro_batch_size: 4
"""

from speccheck.validator.evidence.finding import Fix, to_remove
from speccheck.validator.evidence.stated_keys import StatedKeys, TwiceStatedKey
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-005")
def duplicate_key(stated: StatedKeys) -> Verdicts:
    """Judge each key that stands twice."""
    for file in stated.files:
        if not file.twice:
            yield passed()
        for twice_stated_key in file.twice:
            refused = file.refuses_duplicates
            if twice_stated_key.is_equal and not refused:
                continue
            ending = _ending(file.format) if refused else "the last one wins"
            yield fail(
                f"{twice_stated_key.key} is stated twice in one mapping: {ending}",
                at=[twice_stated_key.again, twice_stated_key.first],
                measured="twice",
                required="once",
                cost="the framework stops at start-up"
                if refused
                else "the first value has no effect, and nothing says so",
                fix=_fix(twice_stated_key, refused=refused),
            )


def _ending(format_id: str) -> str:
    """Return what becomes of a file that the framework refuses as it loads it."""
    if format_id == "deepspeed":
        return (
            "DeepSpeed refuses the file, and accelerate and the Trainer take the last"
        )
    return "the framework refuses the file"


def _fix(twice_stated_key: TwiceStatedKey, *, refused: bool) -> Fix | None:
    """Propose to drop the key that loses; where neither does, nothing."""
    if refused and not twice_stated_key.is_equal:
        return None
    says = f"delete the first {twice_stated_key.key}"
    return Fix(says, (to_remove(twice_stated_key.first),))
