"""`speccheck history FILE`: what became of a fleet over days."""

from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import (
    REFUSALS,
    outputs_of,
    style_of,
)
from speccheck.validator.report.write import write, write_all

FORMATS = ("text", "json")
_NOTHING = 3
_DAYS = 30.0
_GROUP = "History"
_OUTPUT = "FORMAT[=FILE]"
OPTIONS: tuple[Option, ...] = (
    Option("--node", "tell of this node alone", "text", "NAME", group=_GROUP),
    Option("--leaf", "of this leaf or counter alone", "text", "LEAF", group=_GROUP),
    Option("--days", "before the newest run (30)", "number", "N", group=_GROUP),
    Option("--full", "all rows of each part", "switch", group=_GROUP),
    Option("--output", "text or json", "text", _OUTPUT, repeatable=True, group=_GROUP),
    Option("--color", "auto (default), always or never", "text", "WHEN", group=_GROUP),
)
HELP = f"""\
usage: speccheck history FILE [options]

Says what became of a fleet over days, by the file that `speccheck fleet --history FILE`
keeps: which nodes flipped, which values changed, which counters grew, how numbers went.

Exit codes: 0; 2 the command line or the file is wrong; 3 there is no run of that time;
4 a bug of speccheck.
{options_help(OPTIONS)}
"""


def history(words: list[str]) -> int:
    """Tell what a history holds; returns the exit code."""
    from speccheck.validator.fleet.history.database import (  # noqa: PLC0415 - SQLite
        HistoryError,
    )

    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    return guarded(lambda: _history(parse(words, OPTIONS)), (HistoryError, *REFUSALS))


def _history(parsed: Parsed) -> int:
    from speccheck.validator.fleet.history.summary import told  # noqa: PLC0415 - SQLite

    if len(parsed.files) != 1:
        message = f"history takes one file, not {len(parsed.files)}"
        raise UsageError(message)
    outputs = outputs_of(parsed, FORMATS)
    days = parsed.values.get("days", _DAYS)
    found = told(
        parsed.files[0],
        node=str(parsed.values.get("node", "")),
        leaf=str(parsed.values.get("leaf", "")),
        days=float(days) if isinstance(days, int | float) else _DAYS,
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

            style = style_of(parsed, to_file=output.path is not None)
            text = history_text(found, style, full="full" in parsed.values)
        reports.append(((text,), output.path))
    write_all(reports)
    return 0 if found.runs else _NOTHING
