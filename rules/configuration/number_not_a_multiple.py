"""An interval that is no multiple of the one it belongs to.

Why it hurts: the framework asserts that what is kept or measured falls on a step that
is saved or logged, and stops at start-up.

What passes: whole multiples.

Where it does not apply: one of the two is not stated, or is stated several times;
frameworks without such pairs.

Source: the multiples of the key tables: NVIDIA/Megatron-LM
megatron/training/arguments.py (validate_args).

Bad::

    --save-interval 500 --save-retain-interval 1200

Good::

    --save-interval 500 --save-retain-interval 1000
"""

from speccheck.validator.evidence.mending import flag_set
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010")
def number_not_a_multiple(stated: StatedKeys) -> Verdicts:
    """Judge each pair of numbers of which one must divide the other."""
    for file in stated.files:
        if file.catalogue is None:
            continue
        for pair in file.catalogue.multiples:
            key, base = _find(file, pair.key), _find(file, pair.of)
            number, step = _whole(key), _whole(base)
            if key is None or base is None or not number or not step:
                continue
            at = [key.place, base.place]
            if number % step == 0:
                yield passed(at=at, measured=number, required=step)
                continue
            yield fail(
                f"{pair.key} {number:,} is no multiple of {pair.of} {step:,}: "
                f"{number:,} % {step:,} = {number % step:,}",
                at=at,
                measured=number,
                required=f"a multiple of {step}",
                cost="the framework stops at start-up",
                remedy=f"Set {pair.key} to {-(-number // step) * step:,}.",
                fix=flag_set(key, -(-number // step) * step, is_safe=True),
            )


def _find(file: KeyedFile, name: str) -> StatedKey | None:
    """The key of this name, unless a script gives it several times."""
    aliases = file.catalogue.aliases if file.catalogue else {}
    named = [(str(key.path[0]), key) for key in file.keys]
    stated_keys = [key for text, key in named if aliases.get(text, text) == name]
    return stated_keys[0] if len(stated_keys) == 1 else None


def _whole(key: StatedKey | None) -> int | None:
    """A whole number above zero, also as the text of a command line."""
    text = str(key.value) if key else ""
    return int(text) if text.isdecimal() and int(text) > 0 else None
