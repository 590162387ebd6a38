"""`speccheck certify --compare`: a table of certificates, side by side."""

from speccheck.validator.certification.judging import utc_now
from speccheck.validator.cli.options import Parsed, UsageError
from speccheck.validator.cli.request import outputs_of, style_of
from speccheck.validator.report.certificate_table.table import (
    table_json,
    table_markdown,
    table_of,
    table_text,
)
from speccheck.validator.report.document_diff.reading import certificate_of
from speccheck.validator.report.write import write_all
from speccheck.validator.sources.documents.reading import read_text

FORMATS = ("text", "json", "markdown")
_FEWEST, _MOST = 2, 8
_TAKEN = frozenset({"compare", "output", "color"})


def compare_certified(parsed: Parsed) -> int:
    """Write the table; returns the exit code."""
    others = [name for name in parsed.values if name not in _TAKEN]
    if others:
        flag = others[0].replace("_", "-")
        message = f"--compare takes no --{flag}: it only reads certificates"
        raise UsageError(message)
    paths = parsed.files
    if not _FEWEST <= len(paths) <= _MOST:
        message = f"--compare takes {_FEWEST} to {_MOST} certificates, not {len(paths)}"
        raise UsageError(message)
    twice = [one for number, one in enumerate(paths) if one in paths[:number]]
    if twice:
        message = f"--compare: {twice[0]} is given twice"
        raise UsageError(message)
    outputs = outputs_of(parsed, FORMATS)
    found = [(path, certificate_of(read_text(path), path)) for path in paths]
    table = table_of(found, utc_now())
    reports = []
    for output in outputs:
        if output.format == "json":
            text = table_json(table)
        elif output.format == "markdown":
            text = table_markdown(table)
        else:
            style = style_of(parsed, to_file=output.path is not None)
            text = table_text(table, style)
        reports.append(((text,), output.path))
    write_all(reports)
    return 0
