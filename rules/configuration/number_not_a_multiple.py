"""An interval that is no multiple of the one it belongs to.

Why it hurts: the framework asserts that what is kept or measured falls on a step that
is saved or logged, and stops at start-up.

What passes: whole multiples.

Where it does not apply: one of the two is not known; frameworks without such pairs.

Source: the multiples of the key tables: NVIDIA/Megatron-LM
megatron/training/arguments.py (validate_args).

Bad::

    --save-interval 500 --save-retain-interval 1200

Good::

    --save-interval 500 --save-retain-interval 1000
"""

from speccheck.validator.evidence.key_rows import MultipleOf
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010")
def number_not_a_multiple(stated: StatedKeys) -> Verdicts:
    """Judge each pair of numbers of which one must divide the other."""
    for file in stated.files:
        if file.catalogue is None:
            continue
        for pair in file.catalogue.demands.multiples:
            key = _find(file, pair.key)
            number = _whole(key.value) if key else None
            if key is None or number is None:
                continue
            base, step = _find(file, pair.of), _step(file, pair)
            if not step:
                continue
            at = [key.place, *([base.place] if base else [])]
            if number % step == 0:
                yield passed(at=at, measured=number, required=step)
                continue
            where = "" if base else ", the default"
            yield fail(
                f"{pair.key} {number:,} is no multiple of {pair.of} {step:,}{where}: "
                f"{number:,} % {step:,} = {number % step:,}",
                at=at,
                measured=number,
                required=f"a multiple of {step}",
                cost="the framework stops at start-up",
                remedy=f"Set {pair.key} to {-(-number // step) * step:,}.",
            )


def _find(file: KeyedFile, name: str) -> StatedKey | None:
    table = file.catalogue
    aliases = table.aliases if table else {}
    return next(
        (
            key
            for key in file.keys
            if aliases.get(str(key.path[0]), str(key.path[0])) == name
        ),
        None,
    )


def _step(file: KeyedFile, pair: MultipleOf) -> int | None:
    """The number that must divide the other: stated, or surely the default."""
    base = _find(file, pair.of)
    if base is not None:
        return _whole(base.value)
    if file.catalogue is None or not file.is_whole:
        return None
    default = file.catalogue.default((pair.of,), file.version)
    return _whole(default.value) if default else None


def _whole(value: object) -> int | None:
    """A whole number above zero, also as the text of a command line."""
    text = str(value)
    return int(text) if text.isdecimal() and int(text) > 0 else None
