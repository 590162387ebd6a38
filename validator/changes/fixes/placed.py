"""The edits of a fix with lines and columns, for reports and editors."""

from collections.abc import Mapping

from speccheck.validator.changes.fixes.edit import CannotEdit
from speccheck.validator.changes.fixes.edits import edits_of
from speccheck.validator.evidence.finding import Finding, PlacedEdit
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.sources.documents.document import LineTable
from speccheck.validator.sources.reader import Source


def placed_edits(
    finding: Finding, sources: Mapping[str, Source]
) -> tuple[PlacedEdit, ...]:
    """The edits of the fix of a finding; none where no edit can make it.

    Args:
        finding: what fails.
        sources: the files by name.
    """
    if finding.fix is None or finding.waiver is not None:
        return ()
    try:
        found = edits_of(finding.fix, sources)
    except CannotEdit:
        return ()
    placed: list[PlacedEdit] = []
    for file, edits in found.items():
        lines = LineTable(sources[file].text)
        placed += [
            PlacedEdit(file, *lines.place(one.start), *lines.place(one.end), one.text)
            for one in sorted(edits)
        ]
    # Of a text with stars in place of a credential nobody could make an edit.
    is_shown = all(hidden(one.text) == one.text for one in placed)
    return tuple(placed) if is_shown else ()
