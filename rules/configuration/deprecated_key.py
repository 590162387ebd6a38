"""A key that the framework has marked as deprecated.

Why it hurts: the next upgrade stops reading it or refuses it; some deprecated keys
already mean something else.

What passes: current keys. Keys that the stated version has removed are told by
removed_key.

Where it does not apply: versions that do not have the successor yet; where the version
is not stated, keys whose successor is newer than the oldest version tabulated.

Source: the key tables of the frameworks, by version.

Bad::

    "zero_optimization": {"stage": 2, "cpu_offload": true}

Good::

    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}
"""

from collections.abc import Sequence

from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.framework_keys import KeyRow, dotted
from speccheck.validator.evidence.mending import combined, renamed_key
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-004")
def deprecated_key(stated: StatedKeys) -> Verdicts:
    """Judge the keys of each file against their deprecation; one finding a file."""
    for file in stated.files:
        table = file.catalogue
        if table is None:
            continue
        version = file.version
        stated_key_sets = [
            (key, row)
            for key in file.outdated
            if (row := table.lookup(key.path)) is not None
            and table.deprecated(key.path, version)
            and not table.removed(key.path, version)
        ]
        if not stated_key_sets:
            yield passed()
            continue
        names = [_with_successor(dotted(key.path), row) for key, row in stated_key_sets]
        yield fail(
            f"{', '.join(names)} {'is' if len(stated_key_sets) == 1 else 'are'} "
            "deprecated in "
            f"{table.family}",
            at=[key.place for key, _ in stated_key_sets],
            measured=len(stated_key_sets),
            required=0,
            cost="a later version refuses or ignores what stands there",
            remedy=_remedy(stated_key_sets),
            fix=_fix(file, stated_key_sets),
        )


def _fix(
    file: KeyedFile, stated_key_sets: Sequence[tuple[StatedKey, KeyRow]]
) -> Fix | None:
    """All keys by their new names; None where one of them means something else."""
    fixes = [renamed_key(file, key, row, is_safe=True) for key, row in stated_key_sets]
    certain = [fix for fix in fixes if fix is not None]
    if len(certain) < len(fixes):
        return None
    says = "; ".join(fix.says for fix in certain)
    return combined(
        says, (change for fix in certain for change in fix.changes), is_safe=True
    )


def _with_successor(name: str, row: KeyRow) -> str:
    successors = ", ".join(row.deprecated_by)
    return f"{name} (now {successors})" if successors else name


def _remedy(stated_key_sets: Sequence[tuple[StatedKey, KeyRow]]) -> str:
    successors = [name for _, row in stated_key_sets for name in row.deprecated_by]
    if not successors:
        return "Delete it." if len(stated_key_sets) == 1 else "Delete the keys."
    return f"Use {', '.join(dict.fromkeys(successors))}."
