"""`speccheck spec diff A B`: what differs between two editions, and for a report."""

import json
from typing import Any

from speccheck.validator.editions.difference import Difference, differences
from speccheck.validator.editions.edition import Edition, load_edition
from speccheck.validator.editions.report_by_edition import (
    OtherwiseReport,
    ReportByEdition,
    by_edition,
)
from speccheck.validator.report.edition_diff import (
    EditionsCompared,
    edition_diff_json,
    edition_diff_text,
)
from speccheck.validator.sources.documents.reading import read_text


def spec_diff_text(first: str, second: str, report: str | None, output: str) -> str:
    """What `spec diff` prints.

    Args:
        first: an edition: its id, a folder, or a compiled file.
        second: the other one.
        report: the file of a report by the first; None for none.
        output: text or json.

    Raises:
        UnknownEdition: for an edition that cannot be loaded.
        ReadError: for a report that cannot be read.
        OtherwiseReport: for a file that is no report by the first edition.

    """
    before, after = load_edition(first), load_edition(second)
    found = differences(before, after)
    compared = EditionsCompared(before, after, found)
    if report is not None:
        by = _report(report, before, after, found)
        compared = compared._replace(file=report, report=by)
    if output == "json":
        return edition_diff_json(compared)
    return edition_diff_text(compared)


def _report(
    path: str, before: Edition, after: Edition, found: tuple[Difference, ...]
) -> ReportByEdition:
    document: Any
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        message = f"{path}: no JSON: {str(error) or 'nested too deeply'}"
        raise OtherwiseReport(message) from error
    if not isinstance(document, dict):
        message = f"{path}: no report of speccheck: give what --output json writes"
        raise OtherwiseReport(message)
    try:
        return by_edition(document, before, after, found)
    except OtherwiseReport as error:
        message = f"{path}: {error}"
        raise OtherwiseReport(message) from error
