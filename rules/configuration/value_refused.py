"""A value that its key does not take.

Why it hurts: the framework stops at start-up, after the allocation has been granted, or
computes with a text where a number belongs.

What passes: values of the type, the choices and the range that the key table of the
framework lists, in any of the spellings that its loader converts.

What stays open: texts that another tool fills in before the framework reads them.

Where it does not apply: keys that the table lists without a type, and files of formats
without a table; numbers and switches written as texts (refused_value_type).

Source: the key tables of the frameworks, each row with the declaration that it was read
from, and how the loader of each framework converts (`loaders`).

Bad::

    lr_scheduler_type: cosin

Good::

    lr_scheduler_type: cosine
"""

from speccheck.validator.evidence.accepted_values import shown_value, value_fault
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010")
def value_refused(stated: StatedKeys, plan: TrainingPlan) -> Verdicts:
    """Judge each value against its key table, and what the plan can hold."""
    judged: set[tuple[str, KeyPath]] = set()
    for file in stated.files:
        table = file.catalogue
        if table is None or file.format not in table.loaders:
            continue
        retyped = {loaded_as.place.path for loaded_as in file.loaded_as}
        judged |= {(file.file, path) for path in retyped}
        is_clean = True
        for key in file.keys:
            taken = table.accepted(key.path, file.format)
            if taken is None or key.path in retyped or not key.is_sure:
                continue
            fault = value_fault(taken, key.value)
            if fault is None:
                continue
            is_clean = False
            judged.add((file.file, key.path))
            name, value = key.place.key, shown_value(key.value)
            hint = f"; did you mean {fault.meant}?" if fault.meant else ""
            yield fail(
                f"{name} {value}: {table.reader} takes {fault.takes}{hint}",
                at=key.value_place,
                measured=value,
                required=fault.takes,
                cost="the framework stops, or goes on with another value",
                remedy=f"Set {name} to {fault.meant or fault.takes}.",
            )
        if is_clean and file.keys:
            yield passed()
    for field in plan.told():
        if field.status != "invalid" or not field.places:
            continue
        place = field.places[0]
        if (place.file, place.path) in judged:
            continue
        yield fail(
            f"{place.key}: {field.note}",
            at=place,
            cost="the framework stops, or computes with a number that means nothing",
            remedy=f"Give {place.key} the number that is meant.",
        )
