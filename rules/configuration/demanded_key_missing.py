"""A key without the one that the framework demands beside it.

Why it hurts: the framework stops at start-up, after the allocation has been granted.

What passes: the demanded key, or one of several that will do, with a value that will
do.

Where it does not apply: commands of which a part stands in a variable, and files to
which others add keys: there the lack of a key means nothing. Asynchronous saving
without its worker only warns (asynchronous_save_ineffective).

Source: the demands of the key tables, each from the framework's own validator.

Bad::

    --non-persistent-ckpt-type local

Good::

    --non-persistent-ckpt-type local --non-persistent-local-ckpt-dir /local/checkpoints
"""

from collections.abc import Mapping

from speccheck.validator.evidence.key_rows import DemandedKeys
from speccheck.validator.evidence.stated_keys import StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006")
def demanded_key_missing(stated: StatedKeys) -> Verdicts:
    """Judge each key that demands another one."""
    for file in stated.files:
        if file.catalogue is None or not file.is_whole:
            continue
        keys = {_canonical(file.catalogue.aliases, key): key for key in file.keys}
        for demand in file.catalogue.demands.beside:
            key = keys.get(demand.key)
            if key is None or not _has_one_of(key, demand.values):
                continue
            if _is_met(keys, demand):
                yield passed(at=key.place)
                continue
            wanted = " or ".join(_written(one) for one in demand.needed)
            written = _written((demand.key, demand.values and (str(key.value),)))
            note = f" ({demand.note})" if demand.note else ""
            yield fail(
                f"{written} needs {wanted} beside it{note}",
                at=key.place,
                measured="not there",
                required=wanted,
                cost="the framework stops at start-up",
                remedy=f"Add {wanted}, or delete {demand.key}.",
            )


def _canonical(aliases: Mapping[str, str], key: StatedKey) -> str:
    name = ".".join(str(part) for part in key.path)
    return aliases.get(name, name)


def _is_met(keys: Mapping[str, StatedKey], demand: DemandedKeys) -> bool:
    return any(
        name in keys and _has_one_of(keys[name], values)
        for name, values in demand.needed
    )


def _has_one_of(key: StatedKey, values: tuple[str, ...]) -> bool:
    """Whether a key is set to one of these; a text that is not known may be one."""
    if key.value is None or key.value is False:
        return False
    text = str(key.value)
    return not values or text in values or "$" in text


def _written(one: tuple[str, tuple[str, ...]]) -> str:
    name, values = one
    return f"{name} {' or '.join(values)}" if values else name
