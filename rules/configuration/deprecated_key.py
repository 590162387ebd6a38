"""A key that the framework has marked as deprecated.

Why it hurts: the next upgrade stops reading it, or refuses it; some mean another thing.

What passes: current keys. Keys that the stated version has removed are told by
removed_key.

Where the release is not stated, whether a key that a newer one removed still counts is
open, as is any deprecation beside a copy of the framework: most files are of the
release that they were written for.

Where it does not apply: versions that do not have the successor yet; where the version
is not stated, keys whose successor is newer than the oldest version tabulated; keys
that are stated as off, and are off without it.

Source: the key tables of the frameworks, by version.

Bad::

    "zero_optimization": {"stage": 2, "cpu_offload": true}

Good::

    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    KeyRow,
    dotted,
    parse_version,
)
from speccheck.validator.evidence.mending import combined, renamed_key
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CONF-004")
def deprecated_key(stated: StatedKeys) -> Verdicts:
    """Judge the keys of each file against their deprecation; one finding a file."""
    for file in stated.files:
        table = file.catalogue
        if table is None:
            continue
        gone = [*_gone(file, table)]
        keys = [
            (key, row)
            for key in file.outdated
            if (row := table.lookup(key.path)) is not None
            and not row.asks_nothing(key.value)
            and table.deprecated(key.path, file.version)
            and not row.removed_in
        ]
        names = [_with_successor(dotted(key.path), row) for key, row in keys]
        if keys and (file.version is not None or not file.is_beside_source):
            yield fail(
                f"{', '.join(names)} {'is' if len(keys) == 1 else 'are'} deprecated in "
                f"{table.family}",
                at=[key.place for key, _ in keys],
                measured=len(keys),
                required=0,
                cost="a later version refuses or ignores what stands there",
                remedy=_remedy(keys),
                fix=_fix(file, keys),
            )
        elif keys or gone:
            old = [f"{name}, deprecated" for name in names] + [
                f"{_with_successor(dotted(key.path), row)}, in {_release(table, row)}"
                for key, row in gone
            ]
            yield unknown(
                f"newer releases {'changed' if keys else 'removed'} {'; '.join(old)}; "
                "which release the job runs on is not stated",
                missing=["run.framework_version"],
                at=[key.place for key, _ in (*keys, *gone)],
            )
        else:
            yield passed()


def _release(table: FrameworkKeys, row: KeyRow) -> str:
    """Return the release that removed a key, with the name of what was released."""
    text = row.removed_in
    return text if parse_version(text).framework else f"{table.family} {text}"


def _gone(file: KeyedFile, table: FrameworkKeys) -> Iterator[tuple[StatedKey, KeyRow]]:
    """Yield the keys that a release removed, where the file may run on that one."""
    version = file.version
    for key in file.outdated:
        row = table.lookup(key.path)
        if row is None or not row.removed_in or table.removed(key.path, version):
            continue
        if version is None or version.or_newer:
            yield key, row


def _fix(file: KeyedFile, keys: Sequence[tuple[StatedKey, KeyRow]]) -> Fix | None:
    """Propose all keys by their new names; None if one of them means something else."""
    fixes = [renamed_key(file, key, row) for key, row in keys]
    certain = [fix for fix in fixes if fix is not None]
    if len(certain) < len(fixes):
        return None
    are_read = all(fix.is_safe for fix in certain)
    says = "; ".join(fix.says for fix in certain)
    return combined(
        says,
        (change for fix in certain for change in fix.changes),
        because="same meaning" if are_read else "",
    )


def _with_successor(name: str, row: KeyRow) -> str:
    successors = ", ".join(row.deprecated_by)
    return f"{name} (now {successors})" if successors else name


def _remedy(keys: Sequence[tuple[StatedKey, KeyRow]]) -> str:
    successors = [name for _, row in keys for name in row.deprecated_by]
    if not successors:
        return "Delete it." if len(keys) == 1 else "Delete the keys."
    return f"Use {', '.join(dict.fromkeys(successors))}."
