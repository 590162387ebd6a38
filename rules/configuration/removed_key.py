"""A key that the stated version of the framework has removed.

Why it hurts: the framework refuses the file, or drops the setting without a message.

What passes: keys that the version still reads.

Where it does not apply: keys that every tabulated version knows. Where the version is
not stated, or only the least one is known, and a key is gone from some of them, the
clause stays unknown. So it does where the file holds keys that only the training script
can define: its dataclasses may have the removed one as well.

Source: the key tables of the frameworks, by version.

Bad::

    overwrite_output_dir: true       # transformers 5

Good::

    (the line deleted)
"""

from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.framework_keys import FrameworkKeys, KeyRow, dotted
from speccheck.validator.evidence.mending import renamed_key, without_keys
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

# OmegaConf reads their files: another key may refer to one that the framework drops.
_WITH_REFERENCES = frozenset(
    {"llm-foundry", "nemo-automodel", "nemo-rl", "nemo1", "torchtune", "verl"}
)


@rule(clause="CONF-003")
def removed_key(stated: StatedKeys) -> Verdicts:
    """Judge each key against the version that removed it."""
    for file in stated.files:
        table = file.catalogue
        if table is None:
            continue
        version = file.version
        gone = [
            (key, row)
            for key in file.outdated
            if (row := table.lookup(key.path)) is not None and row.removed_in
        ]
        has_own_keys = file.has_own_keys
        removed = [
            stated_keys
            for stated_keys in gone
            if table.removed(stated_keys[0].path, version)
            and not (has_own_keys and table.is_open(stated_keys[0].path))
        ]
        for key, row in removed:
            instead = _replacement(table, row)
            yield fail(
                f"{dotted(key.path)} was removed in {table.family} "
                f"{row.removed_in}{f'; {instead} takes its place' if instead else ''}",
                at=[key.place, *file.version_places],
                measured=dotted(key.path),
                required=instead or "not there",
                cost="the framework refuses the file, or drops the setting",
                remedy=f"Use {instead}." if instead else "Delete the line.",
                fix=_fix(file, key, row),
            )
        left = [key for key, row in gone if (key, row) not in removed]
        gone_by_now = [key for key in left if table.removed(key.path, version)]
        if gone_by_now:
            names = ", ".join(dotted(key.path) for key in gone_by_now)
            yield unknown(
                f"{names}: {table.reader} no longer has it, and the training script, "
                "which defines keys of its own, may",
                missing=(),
                at=[key.place for key in gone_by_now],
            )
        elif left and (version is None or version.or_newer):
            names = ", ".join(dotted(key.path) for key in left)
            yield unknown(
                f"whether {names} still exist depends on the version",
                missing=["run.framework_version"],
                at=[key.place for key in left],
            )
        elif not removed:
            yield passed()


def _fix(file: KeyedFile, key: StatedKey, row: KeyRow) -> Fix | None:
    """Propose the new name, by which it counts again; where none is needed, nothing."""
    table = file.catalogue
    if row.deprecated_by or table is None:
        return renamed_key(file, key, row)
    if table.family in _WITH_REFERENCES:
        return None
    return without_keys([key])


def _replacement(table: FrameworkKeys, row: KeyRow) -> str:
    known = [name for name in row.deprecated_by if name in table.rows]
    return ", ".join(known or row.deprecated_by)
