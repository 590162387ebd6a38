"""A value that its key does not take.

Why it hurts: the framework stops at start-up, after the allocation has been granted, or
computes with a text where a number belongs.

What passes: values of the type, the choices and the range that the key table of the
framework lists, in any of the spellings that its loader converts.

What stays open: texts that another tool fills in; choices of a fork's parser, of a copy
of the framework beside the file (lists and switches too), and of scripts' own keys.

Where it does not apply: keys without a type in the table, files of formats without a
table; numbers and switches written as texts (refused_value_type).

Source: the key tables of the frameworks, each row with the declaration that it was read
from, and how the loader of each framework converts (`loaders`).

Bad::

    lr_scheduler_type: cosin

Good::

    lr_scheduler_type: cosine
"""

from collections.abc import Iterator

from speccheck.validator.evidence.accepted_values import (
    ValueFault,
    shown_value,
    value_fault,
)
from speccheck.validator.evidence.finding import Fix, to_set
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CONF-010")
def value_refused(stated: StatedKeys, plan: TrainingPlan) -> Verdicts:
    """Judge each value against its key table, and what the plan can hold."""
    refused: set[tuple[str, KeyPath]] = set()
    for file, key, fault in _faults(stated):
        refused.add((file.file, key.path))
        if fault is None:
            continue
        name, value = key.place.key, shown_value(key.value)
        reader = file.catalogue.reader if file.catalogue else ""
        is_slip = fault.is_slip and not file.names(key.value)
        is_own = file.is_beside_source and file.version is None and not is_slip
        is_shape = isinstance(key.value, dict | list | bool) or "list" in fault.takes
        is_open = fault.kind == "choice" and (file.has_open_choices or is_own)
        if is_open or (is_own and is_shape):
            yield unknown(
                f"{name} {value}: {reader} takes {fault.takes}, and a fork may read it",
                missing=["run.framework_version"],
                at=key.value_place,
            )
            continue
        hint = f"; did you mean {fault.meant}?" if fault.meant else ""
        yield fail(
            f"{name} {value}: {reader} takes {fault.takes}{hint}",
            at=key.value_place,
            measured=value,
            required=fault.takes,
            cost="the framework stops, or goes on with another value",
            remedy=f"Set {name} to {fault.meant or fault.takes}.",
            fix=_meant(key, fault),
        )
    for field in plan.stated():
        if field.status != "invalid":
            continue
        place = next(iter(field.places), Place("", field.name))
        name, at = place.key, (place.file, place.path or (field.name,))
        if at in refused:
            continue
        refused.add(at)
        yield fail(
            f"{name}: {field.note}",
            at=field,
            cost="the framework stops, or computes with a number that means nothing",
            remedy=f"Give {name} the number that is meant.",
        )
    if not refused and any(file.loader and file.keys for file in stated.files):
        yield passed()


def _faults(
    stated: StatedKeys,
) -> Iterator[tuple[KeyedFile, StatedKey, ValueFault | None]]:
    """Yield the refused values; no fault where refused_value_type tells it."""
    for file in stated.files:
        table, loader = file.catalogue, file.loader
        if table is None or loader is None:
            continue
        has_own_keys = file.has_own_keys
        retyped = {loaded_as.place.path for loaded_as in file.loaded_as}
        for key in file.keys:
            taken = table.accepted(key.path, file.format) if key.is_sure else None
            if key.path in retyped:
                yield file, key, None
                continue
            fault = value_fault(taken, key.value) if taken is not None else None
            # several words after a flag that takes one: `--load path of model`
            is_filler = loader.language == "shell" and isinstance(key.value, list)
            if taken is None or fault is None or is_filler:
                continue
            is_other = taken.is_worded or isinstance(key.value, list | dict)
            is_own = has_own_keys and table.is_open(key.path) and is_other
            if is_own and not fault.is_slip:
                continue
            yield file, key, fault


def _meant(key: StatedKey, fault: ValueFault) -> Fix | None:
    """Return the choice that is one slip away, as the file would hold it."""
    if not fault.meant:
        return None
    says = f"set {key.place.key} to {fault.meant}"
    return Fix(says, (to_set(key.value_place, fault.meant),))
