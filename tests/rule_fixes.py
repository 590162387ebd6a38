"""What the fix of a finding does to the files of a fixture."""

from difflib import SequenceMatcher
from typing import Any

from rule_fixtures import RuleFixture
from speccheck.validator.changes.fixes.edit import CannotEdit, edited
from speccheck.validator.changes.fixes.edits import edits_of
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.sources.reader import Source


def told(fix: Fix | None, fixture: RuleFixture) -> dict[str, Any] | None:
    """Return a fix in the form of fixtures: `lines` that differ, or why none do."""
    if fix is None:
        return None
    said: dict[str, Any] = {"says": fix.says, "safe": fix.is_safe}
    try:
        new = files_after(fix, fixture)
    except CannotEdit as error:
        return {**said, "cannot": str(error)}
    return {**said, "lines": list(_changed_lines(fixture.files, new))}


def files_after(fix: Fix, fixture: RuleFixture) -> dict[str, str]:
    """Return the files as the edits of a fix leave them; raises CannotEdit."""
    sources = {name: Source(name, text) for name, text in fixture.files.items()}
    edits = edits_of(fix, sources)
    return {
        name: edited(text, edits.get(name, ())) for name, text in fixture.files.items()
    }


def _changed_lines(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Return `file:line -text` and `file:line +text`, each with its own line."""
    found: list[str] = []
    for name, text in old.items():
        before, after = text.split("\n"), new[name].split("\n")
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        for kind, i1, i2, j1, j2 in matcher.get_opcodes():
            if kind != "equal":
                found += [f"{name}:{at + 1} -{before[at]}" for at in range(i1, i2)]
                found += [f"{name}:{at + 1} +{after[at]}" for at in range(j1, j2)]
    return found
