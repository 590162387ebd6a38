"""Two certificates or reports compared, as JSON: `speccheck-document-diff/1`."""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.document_diff.compared import (
    Change,
    ComparedDocuments,
    Difference,
    Group,
    Kind,
    Scalar,
    Side,
)
from speccheck.validator.report.serialise import TOOL, Tool, alike, document_text


class DocumentDifference(Record):
    """One thing that differs.

    a, b: null where there is none. by: of numbers, how much more the second is, as a
    share of the first. matters: it ends the validity of a certificate at once.
    """

    group: Group
    subject: str
    change: Change
    a: Scalar
    b: Scalar
    by: float | None
    unit: str | None
    note: str
    matters: bool


class DocumentDiff(Record):
    """Two certificates, or two reports; differences: by what matters most.

    compared: how many clauses, fields, numbers and files both tell.
    """

    schema_name: Literal["speccheck-document-diff/1"]
    tool: Tool
    kind: Kind
    verdict: Literal["same", "differs", "nothing_compared"]
    exit_code: int
    signatures_verified: Literal[False]
    a: Side
    b: Side
    compared: int
    differences: tuple[DocumentDifference, ...]
    varying: tuple[DocumentDifference, ...]
    not_compared: tuple[str, ...]


def document_diff_json(compared: ComparedDocuments, exit_code: int) -> str:
    """Return the whole document."""
    document = alike(
        DocumentDiff,
        compared,
        schema_name="speccheck-document-diff/1",
        tool=TOOL,
        exit_code=exit_code,
        signatures_verified=False,
        differences=[_difference(difference) for difference in compared.notable],
        varying=[_difference(difference) for difference in compared.varying],
    )
    return document_text(document)


def _difference(difference: Difference) -> DocumentDifference:
    without_secrets = (
        hidden(value) if isinstance(value, str) else value for value in difference
    )
    shown = Difference._make(without_secrets)
    return alike(DocumentDifference, shown, unit=difference.unit or None)
