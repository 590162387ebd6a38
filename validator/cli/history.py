"""`speccheck history FILE`: what became of a fleet over days."""

from speccheck.validator.cli.command_line import CommandLine
from speccheck.validator.cli.reports import outputs_of, style_of
from speccheck.validator.fleet.history.database import HistoryError
from speccheck.validator.fleet.history.told import told
from speccheck.validator.report.write import write_all

REFUSED = (HistoryError,)
_NOTHING = 3
_DAYS = 30.0


def history(line: CommandLine) -> int:
    """Tell what a history holds; returns the exit code."""
    path = line.only("file")
    outputs = outputs_of(line)
    found = told(
        path,
        node=line.text("node") or "",
        leaf=line.text("leaf") or "",
        days=line.number("days") or _DAYS,
    )
    reports = []
    for output in outputs:
        if output.format == "json":
            from speccheck.validator.report.history_json import (  # noqa: PLC0415
                history_json,
            )

            text = history_json(found)
        else:
            from speccheck.validator.report.history_text import (  # noqa: PLC0415
                history_text,
            )

            style = style_of(line, to_file=output.path is not None)
            text = history_text(found, style, full=line.has("full"))
        reports.append(((text,), output.path))
    write_all(reports)
    return 0 if found.runs else _NOTHING
